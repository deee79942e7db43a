// Hot path: `bytes`, with what a consumer reads.
export class TooLarge extends Error {}

/** Writes the primitive types of the Kafka protocol: https://kafka.apache.org/protocol#protocol_types. */
export class ByteWriter {
  /** What comes before `#bytes`. */
  readonly #parts: Buffer[] = []
  #partBytes = 0
  #bytes: Buffer
  #at = 0
  #maxBytes: number

  /**
   * @param size of what will be written, where it is known
   * @param maxBytes beyond which writing throws TooLarge
   */
  constructor(size = 512, maxBytes = Number.POSITIVE_INFINITY) {
    this.#bytes = Buffer.allocUnsafe(size)
    this.#maxBytes = maxBytes
  }

  get length(): number {
    return this.#partBytes + this.#at
  }

  /** What was written; without large bytes in it, as a view. */
  written(): Buffer {
    const parts = this.parts()
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** What was written, large bytes as they were given. */
  parts(): readonly Buffer[] {
    return [...this.#parts, this.#bytes.subarray(0, this.#at)]
  }

  int8(value: number): void {
    const at = this.#grow(1)
    this.#bytes[at] = value & 255
  }

  int16(value: number): void {
    const at = this.#grow(2)
    this.#bytes[at] = (value >> 8) & 255
    this.#bytes[at + 1] = value & 255
  }

  int32(value: number): void {
    const at = this.#grow(4)
    this.#bytes.writeInt32BE(value | 0, at)
  }

  /** Overwrites the first four bytes. */
  beginWith(value: number): void {
    ;(this.#parts[0] ?? this.#bytes).writeInt32BE(value, 0)
  }

  int64(value: number): void {
    this.int32(Math.floor(value / 2 ** 32))
    this.int32(value % 2 ** 32)
  }

  varint(value: number): void {
    let left = value
    while (left > 127) {
      this.int8((left & 127) | 128)
      left = Math.floor(left / 128)
    }
    this.int8(left)
  }

  uuid(value: string): void {
    const at = this.#grow(16)
    this.#bytes.fill(0, at, at + 16)
    this.#bytes.write(value, at, 16, "base64url")
  }

  /** Length of a string, of bytes or of a list; -1: null. */
  count(value: number, flexible: boolean, bytes: 2 | 4): void {
    if (flexible) this.varint(value + 1)
    else if (bytes === 2) this.int16(value)
    else this.int32(value)
  }

  bytes(value: Uint8Array): void {
    if (value.length >= APART_BYTES) return this.#apart(value)
    const at = this.#grow(value.length)
    this.#bytes.set(value, at)
  }

  #apart(value: Uint8Array): void {
    this.#check(this.length + value.length)
    const { buffer, byteOffset, length } = value
    this.#parts.push(this.#bytes.subarray(0, this.#at), Buffer.from(buffer, byteOffset, length))
    this.#partBytes += this.#at + length
    this.#bytes = Buffer.allocUnsafe(SPARE_BYTES)
    this.#at = 0
  }

  /** Raises the limit: what has one of its own does not count. */
  allow(bytes: number): void {
    this.#maxBytes += bytes
  }

  #grow(length: number): number {
    const at = this.#at
    const end = at + length
    this.#check(this.#partBytes + end)
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(end + SPARE_BYTES, this.#bytes.length * 2))
      larger.set(this.#bytes.subarray(0, at))
      this.#bytes = larger
    }
    this.#at = end
    return at
  }

  #check(length: number): void {
    if (length > this.#maxBytes) throw new TooLarge("the answer to its request would be too large")
  }
}

/** Larger bytes are not copied. */
const APART_BYTES = 64 * 1024

/** For what follows the records of an answer. */
const SPARE_BYTES = 512
