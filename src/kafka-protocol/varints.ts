// Hot path: every record that is published to Kafka, or read by a consumer of the embedded log.

/** Writes a number in zigzag form, seven bits a byte, the lowest first. */
export function writeVarint(bytes: Buffer, start: number, value: number): number {
  let at = start
  let left = value < 0 ? -value * 2 - 1 : value * 2
  while (left > 127) {
    bytes[at++] = (left & 127) | 128
    left = Math.floor(left / 128)
  }
  bytes[at++] = left
  return at
}

export function varintBytes(value: number): number {
  if (value < 0) return varintBytes(-value - 1)
  if (value < 64) return 1
  if (value < 8192) return 2
  if (value < 1_048_576) return 3
  if (value < 134_217_728) return 4
  let bytes = 5
  // times that are half a year apart and more
  for (let left = value / 2 ** 34; left >= 1; left /= 128) bytes++
  return bytes
}

/** Writes bytes after their length; undefined: none, a length of -1. */
export function writeBytes(bytes: Buffer, start: number, content: Uint8Array | undefined): number {
  if (content === undefined) return writeVarint(bytes, start, -1)
  const at = writeVarint(bytes, start, content.length)
  bytes.set(content, at)
  return at + content.length
}
