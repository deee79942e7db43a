// Hot path: every event whose scheme signs an id passes here.
import { keysIn } from "./key.ts"
import type { Marks } from "./marks.ts"

/*
 * An id's states, as marks.ts has them: free, pending (an event of it is on its way, and others wait for what becomes of
 * it), marked (one was answered 2xx). An event that was answered otherwise leaves its id free, so that the sender's retry
 * comes through.
 *
 * Where the signature does not cover the body, anybody who has one signed request can put another body to its id. There an
 * id is bound to the body that was taken with it, by a second mark of both: the same body again is the sender's retry, whose
 * answer was lost; another one is refused.
 */

/** What became of the use of an id. */
export type Claimed =
  /** It is the caller's, who has to end it. */
  | { readonly kind: "first"; readonly id: ClaimedId }
  /** It was used before by the same event, as far as the signature tells: that one was answered 2xx. */
  | { readonly kind: "repeated" }
  /** It was used before, with another body. */
  | { readonly kind: "refilled" }
  /** Another event of the id was still on its way at the deadline. */
  | { readonly kind: "late" }

/** An id that is claimed for an event on its way. */
export interface ClaimedId {
  /** Keys to be marked, the id's own last. */
  readonly keys: readonly string[]
  readonly deadlineMs: number
}

/** Ids that a signature scheme signs, so that a captured request can't be sent again. Deadlines are by the steady clock. */
export class SignedIds {
  readonly #marks: Marks
  readonly #keyOf: ReturnType<typeof keysIn>
  readonly #bindsBody: boolean
  readonly #keepMs: number
  readonly #now: () => number

  /**
   * @param options `space` tells the pipeline and scheme from others that use the marks; `bindsBody`: the signature does
   *   not cover the body; `keepMs`: how long an id is known; `now`: in milliseconds since 1970
   */
  constructor(
    marks: Marks,
    options: {
      readonly space: readonly string[]
      readonly bindsBody: boolean
      readonly keepMs: number
      readonly now: () => number
    },
  ) {
    this.#marks = marks
    this.#keyOf = keysIn(options.space)
    this.#bindsBody = options.bindsBody
    this.#keepMs = options.keepMs
    this.#now = options.now
  }

  /** @throws HooklineError `unavailable` when marks can't be read now */
  claim(id: string, body: Uint8Array, deadlineMs: number): Claimed | Promise<Claimed> {
    const spelled = JSON.stringify(id)
    const key = this.#keyOf(spelled)
    const bound = this.#bindsBody ? this.#keyOf(spelled, "body", body) : undefined
    const claim = this.#marks.begin(key, deadlineMs)
    const conclude = (it: typeof claim): Claimed | Promise<Claimed> => {
      if (it === "late") return LATE
      if (it === "first")
        return { kind: "first", id: { keys: bound === undefined ? [key] : [bound, key], deadlineMs } }
      return bound === undefined ? REPEATED : this.#compare(bound, deadlineMs)
    }
    return claim instanceof Promise ? claim.then(conclude) : conclude(claim)
  }

  /**
   * Ends with an event whose id was claimed.
   *
   * @param isTaken whether it was answered 2xx
   * @returns whether that is durably known
   */
  end({ keys, deadlineMs }: ClaimedId, isTaken: boolean): boolean | Promise<boolean> {
    // what was not taken has marked nothing but its own key's turn
    if (!isTaken) return this.#marks.end(keys.at(-1)!, undefined, deadlineMs)
    const untilMs = this.#now() + this.#keepMs
    const marked = keys.map((key) => this.#marks.end(key, untilMs, deadlineMs))
    if (marked.every((it) => it === true)) return true
    return Promise.all(marked).then((all) => all.every((it) => it))
  }

  /** Whether a used id was used with this body. */
  async #compare(bound: string, deadlineMs: number): Promise<Claimed> {
    const claim = await this.#marks.begin(bound, deadlineMs)
    if (claim === "duplicate") return REPEATED
    if (claim === "late") return LATE
    await this.#marks.end(bound, undefined, deadlineMs)
    return { kind: "refilled" }
  }
}

const REPEATED: Claimed = { kind: "repeated" }
const LATE: Claimed = { kind: "late" }
