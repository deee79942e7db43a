import { expect, test } from "bun:test"
import { Writer, crc32c as crc32cOfLibrary } from "../brokers/kafka/client-library.ts"
import { crc32c, portable } from "./crc32c.ts"

test.each([
  ["native, where there is a module", crc32c],
  ["in WebAssembly", portable()],
])("the checksum is that of the client library: %s", (_, crc32c) => {
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283)
  const bytes = crypto.getRandomValues(new Uint8Array(1000))
  for (let length = 0; length < 40; length++) {
    const part = bytes.subarray(3, 3 + length)
    const given = Writer.create().append(Buffer.from(part)).dynamicBuffer
    if (length > 0) expect(crc32c(part)).toBe(crc32cOfLibrary(given))
  }
})
