/** Cuts what a connection receives into frames: a length (int32), then as many bytes. */
export class Frames {
  /** The largest frame that is accepted. */
  maxBytes: number
  #bytes = Buffer.alloc(0)
  /** Where in `#bytes` begins what was received and not cut yet; it ends at `#to`. */
  #from = 0
  #to = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Bytes received and not taken. */
  get length(): number {
    return this.#to - this.#from
  }

  add(chunk: Uint8Array): void {
    if (this.#to + chunk.length > this.#bytes.length) {
      const size = Math.max(LEAST_BYTES, (this.length + chunk.length) * 2)
      const larger = Buffer.allocUnsafe(size)
      larger.set(this.#bytes.subarray(this.#from, this.#to))
      this.#to -= this.#from
      this.#from = 0
      this.#bytes = larger
    }
    this.#bytes.set(chunk, this.#to)
    this.#to += chunk.length
  }

  /**
   * The next frame without its length.
   *
   * @returns undefined: it is not complete; `too_large`: its length is none, or over the limit
   */
  next(): Buffer | "too_large" | undefined {
    if (this.length < 4) return undefined
    const size = this.#bytes.readInt32BE(this.#from)
    if (size < 0 || size > this.maxBytes) return "too_large"
    if (this.length < 4 + size) return undefined
    const frame = this.#bytes.subarray(this.#from + 4, this.#from + 4 + size)
    this.#from += 4 + size
    if (this.#from === this.#to) this.#reset()
    return frame
  }

  /** Frames are views of the buffer, which is not written over: the next ones come into another. */
  #reset(): void {
    this.#bytes = Buffer.alloc(0)
    this.#from = 0
    this.#to = 0
  }
}

const LEAST_BYTES = 512
