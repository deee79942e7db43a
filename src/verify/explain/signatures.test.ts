import { expect, test } from "bun:test"
import { digestsIn } from "./signatures.ts"

/** A signature in DER of so many bytes, whose base64 has only letters and digits. */
const der = (bytes: number): Buffer => Buffer.concat([Buffer.from([0x30]), Buffer.alloc(bytes - 1, "a")])
const HASH = Buffer.alloc(32, 0xff)

test.each([
  ["DER that needs no padding", der(72).toString("base64"), "base64"],
  ["DER with padding", der(71).toString("base64"), "base64"],
  ["DER without its padding", der(71).toString("base64url"), "base64url"],
  ["DER in hexadecimal", der(72).toString("hex"), "hex"],
  ["a hash in base64", HASH.toString("base64"), "base64"],
  ["a hash in base64url", HASH.toString("base64url"), "base64url"],
] as const)("the encoding of %s is recognized", (_, text, encoding) => {
  expect(digestsIn(text).map((digest) => digest.encoding)).toEqual([encoding])
})
