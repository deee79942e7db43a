/** How many requests of a pipeline ended for one reason, and when the first and the last did. */
interface Tally {
  /** null: none has their path. */
  readonly pipeline: string | null
  readonly outcome: "rejected" | "dropped"
  readonly reason: string
  /** Of the last one, as its detail. */
  status: number
  detail: string | undefined
  count: number
  /** Milliseconds since 1970. */
  firstMs: number
  lastMs: number
}

/** How many there may be; then a tenth goes, those that nothing was counted to for the longest time. */
const MAX_TALLIES = 5000

/** Counts refused and dropped requests by pipeline, outcome and reason, since the start or since they were forgotten. */
export class ReasonTallies {
  /** Of all refused ones. */
  refused = 0
  readonly #tallies = new Map<string, Tally>()

  count(request: Omit<Tally, "count" | "firstMs" | "lastMs">, atMs: number): void {
    const { pipeline, outcome, reason, status, detail } = request
    if (outcome === "rejected") this.refused++
    const key = `${pipeline ?? ""}\n${outcome}\n${reason}`
    let tally = this.#tallies.get(key)
    if (tally === undefined) {
      tally = { pipeline, outcome, reason, status, detail, count: 0, firstMs: atMs, lastMs: atMs }
      this.#tallies.set(key, tally)
      if (this.#tallies.size > MAX_TALLIES) this.#forgetOldest()
    }
    tally.count++
    tally.status = status
    tally.detail = detail
    tally.lastMs = atMs
  }

  #forgetOldest(): void {
    const byAge = [...this.#tallies].toSorted(([, a], [, b]) => a.lastMs - b.lastMs)
    for (const [key] of byAge.slice(0, MAX_TALLIES / 10)) this.#tallies.delete(key)
  }

  clear(): void {
    this.refused = 0
    this.#tallies.clear()
  }

  [Symbol.iterator](): Iterator<Tally> {
    return this.#tallies.values()
  }
}
