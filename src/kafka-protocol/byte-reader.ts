/** The bytes are not a request of the protocol. */
export class Malformed extends Error {}

/** Reads the primitive types of the Kafka protocol: https://kafka.apache.org/protocol#protocol_types. Throws Malformed. */
export class ByteReader {
  readonly #bytes: Buffer
  #at = 0
  /** How many elements all lists together may still have: a small frame must not become large objects. */
  #elementsLeft = MAX_ELEMENTS

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get position(): number {
    return this.#at
  }

  int8(): number {
    return this.#bytes.readInt8(this.#take(1))
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#take(2))
  }

  uint16(): number {
    return this.#bytes.readUInt16BE(this.#take(2))
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#take(4))
  }

  /** Exact up to 2^53. */
  int64(): number {
    const at = this.#take(8)
    return this.#bytes.readInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4)
  }

  varint(): number {
    let value = 0
    for (let factor = 1; factor < 2 ** 35; factor *= 128) {
      const byte = this.#bytes[this.#take(1)]!
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
    throw new Malformed("a varint of more than five bytes")
  }

  uuid(): string {
    const at = this.#take(16)
    return this.#bytes.toString("base64url", at, at + 16)
  }

  /** Length of a string, of bytes or of a list, -1 for null. */
  length(flexible: boolean, bytes: 2 | 4): number {
    const length = flexible ? this.varint() - 1 : bytes === 2 ? this.int16() : this.int32()
    if (length < -1) throw new Malformed(`a length of ${length}`)
    return length
  }

  elements(flexible: boolean): number {
    const count = this.length(flexible, 4)
    this.#elementsLeft -= count
    if (this.#elementsLeft < 0) throw new Malformed(`more than ${MAX_ELEMENTS} elements`)
    return count
  }

  take(length: number): Buffer {
    const at = this.#take(length)
    return this.#bytes.subarray(at, at + length)
  }

  /** Reads over the tagged fields of a struct. */
  skipTags(): void {
    for (let count = this.varint(); count > 0; count--) {
      this.varint()
      this.take(this.varint())
    }
  }

  #take(length: number): number {
    const at = this.#at
    if (at + length > this.#bytes.length) throw new Malformed("it ends early")
    this.#at = at + length
    return at
  }
}

const MAX_ELEMENTS = 20_000
