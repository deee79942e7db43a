import { SEQUENCES_A_SECOND, type Captured } from "../captured.ts"
import type { Service } from "../service.ts"
import { newest } from "./captures.ts"

/** Captures of one poll; further ones are left out. */
const MAX_NEW = 50

/** What was captured since the last poll. */
export class NewCaptures {
  readonly #service: Pick<Service, "receivers" | "captureMode">
  /** Sequences of about the last second; undefined: nobody has polled yet. */
  #seen: ReadonlySet<number> | undefined

  constructor(service: Pick<Service, "receivers" | "captureMode">) {
    this.#service = service
  }

  /** The oldest first; none at the first poll. */
  async next(): Promise<readonly Captured[]> {
    if (this.#service.captureMode() === "off") return []
    const seen = this.#seen
    // the last second again: another process's may be known later
    const after = Math.max(0, ...(seen ?? [])) - SEQUENCES_A_SECOND
    const found = await newest(this.#service.receivers(), { after, limit: 4 * MAX_NEW })
    const sequences = new Set(found.map(({ sequence }) => sequence))
    this.#seen = sequences.size > 0 ? sequences : (seen ?? sequences)
    if (seen === undefined) return []
    return found
      .filter(({ sequence }) => !seen.has(sequence))
      .slice(0, MAX_NEW)
      .toReversed()
  }
}
