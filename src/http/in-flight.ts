import { fullGC } from "bun:jsc"

/** The largest body that is small: it costs little to take, and leaves little behind. */
export const SMALL_BYTES = 16 * 1024

/**
 * Bodies leave garbage while they are read and when they are answered, and the engine collects it only when there is as
 * much of it as lives, or has lived. So it is made to collect as often as large bodies, or any while this share of the
 * budget is held, have come and gone by what of the budget is not held, and at least half of it. 2,000 senders of 100 KB
 * then make 255 MiB of resident memory where they made 540. For small bodies, while little is held, nothing is done.
 *
 */
const MUCH = 1 / 8
const LEAST_COLLECTED_BYTES = 16 * 1024 * 1024

/** What is being taken at the moment, over all routes: how many requests, and how many bytes are held of their bodies. */
export class InFlight {
  /** May be changed; below what is held, nothing is let in until enough of it is released. */
  maxBytes: number
  #requests = 0
  #bytes = 0
  #arrivedBytes = 0
  readonly #collect: (maxBytes: number) => void
  #garbageBytes = 0
  #whenNone: (() => void)[] = []
  #era = new Era()
  #earlier = Promise.resolve()

  /** @param collect frees what garbage holds; called between answers */
  constructor(maxBytes: number, collect = collectGarbage) {
    this.maxBytes = maxBytes
    this.#collect = collect
  }

  get requests(): number {
    return this.#requests
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Bytes that may still be held. */
  get freeBytes(): number {
    return this.maxBytes - this.#bytes
  }

  /** Bytes that may be held until less than half of all is free; negative when it is less. */
  get amplyFreeBytes(): number {
    return this.freeBytes - this.maxBytes / 2
  }

  /**
   * Whether bodies that have arrived, and are not answered, hold half of all. More large ones would make each event dearer
   * and none of them faster, and would leave no room for small ones. What slow senders have announced does not count.
   */
  get isCrowded(): boolean {
    return this.#arrivedBytes > this.maxBytes / 2
  }

  /**
   * Counts a request in, until its share is released.
   *
   * @param like the share that the same request has already
   */
  enter(like?: Share): Share {
    const era = like?.era ?? this.#era
    this.#requests++
    era.requests++
    return new Share(this, era)
  }

  /** Begins a new era; resolves when all requests that entered before have left. */
  turn(): Promise<void> {
    const over = this.#era
    this.#era = new Era()
    this.#earlier = bothOf(this.#earlier, over.end())
    return this.#earlier
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
    this.#leaveGarbage(bytes)
  }

  /** For Share. */
  arrive(bytes: number): void {
    this.#arrivedBytes += bytes
  }

  /** For Share. */
  leave(bytes: number, arrivedBytes: number, era: Era): void {
    this.#leaveGarbage(bytes)
    this.#bytes -= bytes
    this.#arrivedBytes -= arrivedBytes
    era.leave()
    if (--this.#requests > 0) return
    for (const resolve of this.#whenNone.splice(0)) resolve()
  }

  #leaveGarbage(bytes: number): void {
    if (bytes <= SMALL_BYTES && this.#bytes <= this.maxBytes * MUCH) return
    this.#garbageBytes += Math.abs(bytes)
    const mostBytes = Math.max(this.maxBytes / 2, this.freeBytes, LEAST_COLLECTED_BYTES)
    if (this.#garbageBytes < mostBytes) return
    this.#garbageBytes = 0
    setImmediate(this.#collect, this.maxBytes)
  }
}

const MUCH_RESIDENT_BYTES = 192 * 1024 * 1024

/**
 * `Bun.gc(true)` also throws compiled code away and gives free memory back to the system, from where the next bodies fetch
 * it: with it an event of 100 KB cost 640 us of CPU, with `fullGC` 530, and 47 page faults instead of 10. So it is for when
 * much is resident beside the budget: what small bodies have left behind is in the way of large ones.
 */
function collectGarbage(maxBytes: number): void {
  if (process.memoryUsage.rss() > MUCH_RESIDENT_BYTES + maxBytes) Bun.gc(true)
  else fullGC()
}

/** The time between two changes of what requests are answered by. */
class Era {
  requests = 0
  #ended: (() => void) | undefined

  /** Resolves when its last request has left. No other may enter, but on behalf of one that is there. */
  end(): Promise<void> {
    if (this.requests === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#ended = resolve
    return promise
  }

  leave(): void {
    if (--this.requests === 0) this.#ended?.()
  }
}

/** What one request holds. */
export class Share {
  /** When the request came. */
  readonly era: Era
  readonly #of: InFlight
  #bytes = 0
  #arrivedBytes = 0
  #released = false

  constructor(of: InFlight, era: Era) {
    this.#of = of
    this.era = era
  }

  get freeBytes(): number {
    return this.#of.freeBytes
  }

  get amplyFreeBytes(): number {
    return this.#of.amplyFreeBytes
  }

  get isCrowded(): boolean {
    return this.#of.isCrowded
  }

  /** Makes it hold that many bytes in all. More than are free are refused, and it holds what it did; once released it holds nothing. */
  hold(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (more > this.#of.freeBytes || this.#released) return false
    this.#bytes = bytes
    this.#of.add(more)
    return true
  }

  /** The body has arrived whole, and is worked on from now on. To be called once at most; `hold` not after it. */
  arrive(): void {
    this.#arrivedBytes = this.#bytes
    this.#of.arrive(this.#arrivedBytes)
  }

  /** The request is answered and nothing is held for it any more. To be called once. */
  release(): void {
    this.#released = true
    this.#of.leave(this.#bytes, this.#arrivedBytes, this.era)
  }
}

async function bothOf(a: Promise<void>, b: Promise<void>): Promise<void> {
  await a
  await b
}
