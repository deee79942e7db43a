interface Pauses {
  /** Milliseconds. */
  readonly first: number
  readonly longest: number
}

/** A pause that doubles with each of `times` attempts that failed before. */
export const doubled = ({ first, longest }: Pauses, times: number): number =>
  Math.min(longest, first * 2 ** times)

/** The pauses between attempts that fail one after another. */
export class Backoff {
  readonly #pauses: Pauses
  #failures = 0

  constructor(pauses: Pauses) {
    this.#pauses = pauses
  }

  /** @returns milliseconds until the next attempt: each time twice as many, up to the longest pause */
  failed(): number {
    return doubled(this.#pauses, this.#failures++)
  }

  /** The next failure is followed by the first pause again. */
  reset(): void {
    this.#failures = 0
  }
}
