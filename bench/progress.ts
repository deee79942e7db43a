import type { Part } from "./parts.ts"

/** Says what is measured, and about how long the rest takes. */
export class Progress {
  readonly #steps: number
  readonly #startedMs = performance.now()
  readonly #expectedMs: number
  #step = 0

  constructor(parts: readonly Part[], { seconds, rounds }: { seconds: number; rounds: number }) {
    const turns = parts.flatMap((part) => part.targets.map(() => part.cases.length))
    this.#steps = turns.length * rounds
    const aRound = turns.reduce((total, cases) => total + START_S + cases * (seconds + SETTLE_S), 0)
    this.#expectedMs = aRound * rounds * 1000
  }

  next(what: string): void {
    const leftMs = Math.max(0, this.#expectedMs - (performance.now() - this.#startedMs))
    this.#step++
    console.log(`[${this.#step} of ${this.#steps}, about ${Math.ceil(leftMs / 60_000)} min left] ${what}`)
  }
}

/** Seconds that starting, warming up and ending a target take, and those between two measurements. */
const START_S = 5
const SETTLE_S = 0.3
