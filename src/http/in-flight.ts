/** What is being taken at the moment, over all routes: how many requests, and how many bytes are held of their bodies. */
export class InFlight {
  readonly #maxBytes: number
  #requests = 0
  #bytes = 0
  #whenNone: (() => void)[] = []

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get requests(): number {
    return this.#requests
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Bytes that may still be held. */
  get freeBytes(): number {
    return this.#maxBytes - this.#bytes
  }

  /** Bytes that may be held until less than half of all is free; negative when it is less. */
  get amplyFreeBytes(): number {
    return this.freeBytes - this.#maxBytes / 2
  }

  /** Counts a request in, until its share is released. */
  enter(): Share {
    this.#requests++
    return new Share(this)
  }

  /** Resolves as soon as there is no request. */
  none(): Promise<void> {
    if (this.#requests === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#whenNone.push(resolve)
    return promise
  }

  /** For Share. */
  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** For Share. */
  leave(bytes: number): void {
    this.#bytes -= bytes
    if (--this.#requests > 0) return
    for (const resolve of this.#whenNone.splice(0)) resolve()
  }
}

/** What one request holds. */
export class Share {
  readonly #of: InFlight
  #bytes = 0
  #released = false

  constructor(of: InFlight) {
    this.#of = of
  }

  get freeBytes(): number {
    return this.#of.freeBytes
  }

  get amplyFreeBytes(): number {
    return this.#of.amplyFreeBytes
  }

  /** Makes it hold that many bytes in all. More than are free are refused, and it holds what it did; once released it holds nothing. */
  hold(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (more > this.#of.freeBytes || this.#released) return false
    this.#bytes = bytes
    this.#of.add(more)
    return true
  }

  /** The request is answered and nothing is held for it any more. To be called once. */
  release(): void {
    this.#released = true
    this.#of.leave(this.#bytes)
  }
}
