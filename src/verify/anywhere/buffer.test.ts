import { expect, test } from "bun:test"
import * as node from "node:buffer"
import * as own from "./buffer.ts"

const BYTES = Uint8Array.from([0xef, 0xbb, 0xbf, 0x61, 0xc3, 0xa9, 0xff, 0x22, 0x00, 0x7a])
const ENCODINGS = ["utf8", "hex", "base64", "base64url", "latin1"] as const

test.each(ENCODINGS)("%s is written as node:buffer writes it, of all bytes and of a range", (encoding) => {
  const [ours, theirs] = [own.Buffer.from(BYTES), node.Buffer.from(BYTES)]
  expect(ours.toString(encoding)).toBe(theirs.toString(encoding))
  for (let from = 0; from <= BYTES.length; from++)
    for (let to = from; to <= BYTES.length; to++)
      expect(ours.subarray(from, to).toString(encoding)).toBe(theirs.toString(encoding, from, to))
})

test.each(ENCODINGS)("%s is read as node:buffer reads it", (encoding) => {
  for (const text of ["", "a", "c3a9", "c3a", "zz", "YQ==", "YQ", "-_8", "é", "a b\n"])
    expect([...own.Buffer.from(text, encoding)]).toEqual([...node.Buffer.from(text, encoding)])
})

test("part of an ArrayBuffer is the same bytes, not a copy", () => {
  const part = own.Buffer.from(BYTES.buffer, 3, 2)
  expect([...part]).toEqual([0x61, 0xc3])
  expect(part.buffer).toBe(BYTES.buffer)
})

test.each([[[0x61]], [[0xc3, 0xa9]], [[0xff]], [[0xf0, 0x9f]]])("whether %p is UTF-8", (bytes) => {
  const it = Uint8Array.from(bytes)
  expect(own.isUtf8(it)).toBe(node.isUtf8(it))
})
