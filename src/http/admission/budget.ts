import { fullGC } from "bun:jsc"

/** The largest small body: cheap to read, with little garbage. */
export const SMALL_BYTES = 16 * 1024

/**
 * Bodies become garbage, which the engine collects only once it equals the live memory, now or at its peak. So a
 * collection is forced whenever bodies amounting to the unreserved budget, and at least half of all, have come and
 * gone. Small bodies count only while more than this share of the budget is reserved. 2,000 senders of 100 KB then take
 * 255 MiB of resident memory instead of 540.
 */
const BUSY_SHARE = 1 / 8
const MEBIBYTE = 1024 * 1024
const MIN_COLLECTED_BYTES = 16 * MEBIBYTE
const HIGH_RESIDENT_BYTES = 192 * MEBIBYTE

const DEFAULT_BYTES = 64 * MEBIBYTE
/** What a process takes without bodies. */
const BASE_BYTES = 64 * MEBIBYTE
const LEAST_BYTES = 8 * MEBIBYTE

/**
 * `max_in_flight_bytes` where it is not set: what memory allows, four times over, since a body is there as it is received,
 * enriched and written, and may be garbage before it is collected. Without a limit 300 senders of 256 KB take, beyond what an
 * idle process has, 80 MiB with a budget of 16 MiB, 130 with 32 and 220 with 64. The full budget needs 320 MiB.
 *
 * @param memoryBytes what the control group allows, or the machine has
 */
export function defaultInFlightBytes(memoryBytes = process.constrainedMemory()): number {
  // 0: unknown
  const allowed = memoryBytes > 0 ? (memoryBytes - BASE_BYTES) / 4 : DEFAULT_BYTES
  return Math.min(DEFAULT_BYTES, Math.max(LEAST_BYTES, allowed))
}

/** The requests in flight over all routes, and the budget of bytes for their bodies. */
export class InFlightBudget {
  /** Can change; lowered below what is reserved, it blocks reservations until enough is released. */
  maxBytes: number
  /** Unanswered requests, and the bytes reserved for them; changed by their reservations only. */
  requests = 0
  bytes = 0
  #arrivedBytes = 0
  readonly #collect: (maxBytes: number) => void
  #garbageBytes = 0
  #generation: Generation = { requests: 0 }
  #earlier = Promise.resolve()

  /** @param collect collects garbage; called between answers */
  constructor(maxBytes: number, collect = collectGarbage) {
    this.maxBytes = maxBytes
    this.#collect = collect
  }

  get freeBytes(): number {
    return this.maxBytes - this.bytes
  }

  /** Bytes that can be reserved before less than half of the budget is free; negative beyond that. */
  get amplyFreeBytes(): number {
    return this.freeBytes - this.maxBytes / 2
  }

  /**
   * Whether bodies that have arrived and are not answered take half of the budget. More large ones would make each
   * event more expensive and none faster, and leave nothing for small ones. Announced bytes of slow senders do not
   * count.
   */
  get isCrowded(): boolean {
    return this.#arrivedBytes > this.maxBytes / 2
  }

  /** Counts a request until its reservation is released. */
  enter(): Reservation {
    this.requests++
    this.#generation.requests++
    return new Reservation(this, this.#generation)
  }

  /** Resolves when all requests now in flight have been answered. */
  answered(): Promise<void> {
    const current = this.#generation
    this.#generation = { requests: 0 }
    const { promise, resolve } = Promise.withResolvers<void>()
    if (current.requests === 0) resolve()
    else current.ended = resolve
    this.#earlier = this.#earlier.then(() => promise)
    return this.#earlier
  }

  /** For Reservation. */
  add(bytes: number): void {
    this.bytes += bytes
    this.#leaveGarbage(bytes)
  }

  /** For Reservation. */
  arrived(bytes: number): void {
    this.#arrivedBytes += bytes
  }

  /** For Reservation. */
  leave(bytes: number, arrivedBytes: number): void {
    this.#leaveGarbage(bytes)
    this.bytes -= bytes
    this.#arrivedBytes -= arrivedBytes
    this.requests--
  }

  #leaveGarbage(bytes: number): void {
    if (bytes <= SMALL_BYTES && this.bytes <= this.maxBytes * BUSY_SHARE) return
    this.#garbageBytes += Math.abs(bytes)
    const collectAtBytes = Math.max(this.maxBytes / 2, this.freeBytes, MIN_COLLECTED_BYTES)
    if (this.#garbageBytes < collectAtBytes) return
    this.#garbageBytes = 0
    setImmediate(this.#collect, this.maxBytes)
  }
}

/** One request's share of the budget. */
export class Reservation {
  readonly budget: InFlightBudget
  /** The most bytes that were reserved at once, or decompressed before the body was refused. */
  mostBytes = 0
  readonly #generation: Generation
  #bytes = 0
  #arrivedBytes = 0
  #released = false

  constructor(budget: InFlightBudget, generation: Generation) {
    this.budget = budget
    this.#generation = generation
  }

  /** Reserves that many bytes in all. @returns false, with nothing changed, when fewer are free; released: no effect */
  reserve(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (more > this.budget.freeBytes || this.#released) return false
    this.#bytes = bytes
    if (bytes > this.mostBytes) this.mostBytes = bytes
    this.budget.add(more)
    return true
  }

  /** The body has arrived whole. Called at most once; `reserve` not after it. */
  arrived(): void {
    this.#arrivedBytes = this.#bytes
    this.budget.arrived(this.#arrivedBytes)
  }

  /** Reserves more for what is made of a body that has arrived. @returns false, with nothing changed, when fewer are free */
  grow(bytes: number): boolean {
    if (bytes > this.budget.freeBytes || this.#released) return false
    this.#bytes += bytes
    this.#arrivedBytes += bytes
    this.budget.add(bytes)
    this.budget.arrived(bytes)
    return true
  }

  /** The request is answered. Called once. */
  release(): void {
    this.#released = true
    this.budget.leave(this.#bytes, this.#arrivedBytes)
    if (--this.#generation.requests === 0) this.#generation.ended?.()
  }
}

/** The requests entered between two calls of `answered`. */
interface Generation {
  requests: number
  /** Called when the last has been answered; absent: more may enter. */
  ended?: () => void
}

/**
 * `Bun.gc(true)` also discards compiled code and returns free memory to the system: an event of 100 KB cost 640 us of
 * CPU with it, 530 with `fullGC`, and 47 page faults instead of 10. So it runs only when much is resident in addition to the
 * budget, where the garbage of small bodies would crowd out large ones.
 */
function collectGarbage(maxBytes: number): void {
  if (process.memoryUsage.rss() > HIGH_RESIDENT_BYTES + maxBytes) Bun.gc(true)
  else fullGC()
}
