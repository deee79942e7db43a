/*
 * A frame: length of what follows (u32, little endian) | its kind (u8) | the rest, which is the kind's.
 */
const LENGTH = 4

/** Cuts what a socket gives into frames. */
export class FrameCutter {
  readonly #whole: (frame: Buffer) => void
  /** A frame whose end has not come, as long as it will be; or less than a length. */
  #begun: Buffer = Buffer.alloc(0)
  #filled = 0

  constructor(whole: (frame: Buffer) => void) {
    this.#whole = whole
  }

  add(bytes: Buffer): void {
    let rest = bytes
    while (this.#filled > 0 && rest.length > 0) rest = this.#fill(rest)
    while (rest.length >= LENGTH) {
      const length = LENGTH + rest.readUInt32LE(0)
      if (rest.length < length) break
      this.#whole(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
    if (rest.length > 0) this.#begin(rest)
  }

  #begin(bytes: Buffer): void {
    this.#begun = Buffer.allocUnsafe(bytes.length < LENGTH ? LENGTH : LENGTH + bytes.readUInt32LE(0))
    this.#filled = bytes.copy(this.#begun)
  }

  /** Adds to the frame that has begun. @returns what is behind it */
  #fill(bytes: Buffer): Buffer {
    const taken = bytes.copy(this.#begun, this.#filled)
    this.#filled += taken
    if (this.#filled === this.#begun.length) {
      const begun = this.#begun
      this.#filled = 0
      // what was begun may have been its length alone, of which the frame is made now
      if (begun.length === LENGTH) this.#begin(Buffer.from(begun))
      else this.#whole(begun)
    }
    return bytes.subarray(taken)
  }
}
