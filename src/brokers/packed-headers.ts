import type { RecordHeader } from "../pipeline/record.ts"

/*
 * Headers in a column: for each, in their order,
 *   name length (u32, little endian) | name (UTF-8) | value length (u32, little endian) | value
 */

export function packHeaders(headers: readonly RecordHeader[]): Uint8Array {
  const parts = headers.map(([name, value]) => [Buffer.from(name), value] as const)
  const packed = Buffer.alloc(parts.reduce((sum, [name, value]) => sum + 8 + name.length + value.length, 0))
  let at = 0
  const put = (bytes: Uint8Array): void => {
    at = packed.writeUInt32LE(bytes.length, at)
    packed.set(bytes, at)
    at += bytes.length
  }
  for (const [name, value] of parts) {
    put(name)
    put(value)
  }
  return packed
}

export function unpackHeaders(packed: Uint8Array): RecordHeader[] {
  const headers: RecordHeader[] = []
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length)
  let at = 0
  const take = (): Buffer => {
    const length = bytes.readUInt32LE(at)
    const taken = bytes.subarray(at + 4, at + 4 + length)
    at += 4 + length
    return taken
  }
  while (at < bytes.length) {
    const name = take().toString()
    headers.push([name, new Uint8Array(take())])
  }
  return headers
}
