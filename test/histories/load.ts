import { KeptConnection } from "../support/kept-connection.ts"
import { Random } from "../support/random.ts"
import type { HistoryFile } from "./history.ts"

/** Senders of each topic, each with a key of its own. */
const SENDERS = 12
/** As providers do. */
const GIVE_UP_MS = 10_000
/** Between a refusal and the next try, at least and at most. */
const BACK_OFF_MS = [200, 1500] as const
const TRIES = 8
/** The share of events that are no JSON: refused for good. */
const INVALID = 0.01
/** The share of acknowledged events that are posted again, as providers do that missed the answer. */
const REDELIVERED = 0.05

/** Senders that post uniquely numbered events as providers do: again after a 503 or no answer, a few times. */
export class Load {
  readonly #history: HistoryFile
  readonly #random: Random
  readonly #signal: AbortSignal
  readonly #working: readonly Promise<void>[]
  #next = 0
  #stopped = false

  /** @param settings `perSecond`: of all topics together; `redeliverTo`: a topic whose pipeline knows what was acknowledged; `signal`: ends the retries */
  constructor(
    history: HistoryFile,
    urls: { readonly [topic: string]: string },
    settings: {
      readonly perSecond: number
      readonly seed: number
      readonly redeliverTo: string
      readonly signal: AbortSignal
    },
  ) {
    this.#history = history
    this.#signal = settings.signal
    this.#random = new Random(settings.seed)
    const pauseMs = (1000 * SENDERS * Object.keys(urls).length) / settings.perSecond
    this.#working = Object.entries(urls).flatMap(([topic, url]) =>
      Array.from({ length: SENDERS }, (_, at) =>
        this.#work({ topic, url, key: `k${at}`, pauseMs, redelivers: topic === settings.redeliverTo }),
      ),
    )
  }

  /** Ends the load; what is not acknowledged is still tried again. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#working)
  }

  async #work(sender: {
    topic: string
    url: string
    key: string
    pauseMs: number
    redelivers: boolean
  }): Promise<void> {
    using connection = new KeptConnection(sender.url, { giveUpMs: GIVE_UP_MS })
    while (!this.#stopped) {
      const n = this.#next++
      const isInvalid = this.#random.next() < INVALID
      const body = JSON.stringify({ n, k: sender.key, type: "order.paid" })
      const post = (attempt: number): Promise<Outcome> =>
        this.#post(connection, sender, { n, attempt, body: isInvalid ? body.slice(0, -1) : body })
      let attempt = 1
      let outcome = await post(attempt)
      // While nobody listens, it is tried for as long as that takes.
      for (let tries = 1; isToRetry(outcome) && tries < TRIES && !this.#signal.aborted;) {
        await Bun.sleep(BACK_OFF_MS[0] + this.#random.next() * (BACK_OFF_MS[1] - BACK_OFF_MS[0]))
        outcome = await post(++attempt)
        if (outcome !== "unheard") tries += 1
      }
      if (sender.redelivers && outcome === "ok" && this.#random.next() < REDELIVERED) await post(attempt + 1)
      await Bun.sleep(sender.pauseMs * (0.5 + this.#random.next()))
    }
  }

  async #post(
    connection: KeptConnection,
    { topic, key }: { topic: string; key: string },
    { n, attempt, body }: { n: number; attempt: number; body: string },
  ): Promise<Outcome> {
    this.#history.add({ f: "send", type: "invoke", topic, key, n, attempt })
    const answer = await connection.post(body, [`X-Request-Id: ${n}.${attempt}`])
    const outcome = outcomeOf(answer)
    this.#history.add({ f: "send", type: outcome === "unheard" ? "fail" : outcome, n, attempt, answer })
    return outcome
  }
}

/** `unheard`: nobody listens. */
type Outcome = "ok" | "fail" | "info" | "unheard"

/** A 503 and a lost answer leave open whether the event will be in the log; a 4xx and a refused connection do not. */
function outcomeOf(answer: number | string): Outcome {
  if (answer === "refused") return "unheard"
  if (typeof answer === "string" || answer >= 500) return "info"
  return answer < 300 ? "ok" : "fail"
}

const isToRetry = (outcome: Outcome): boolean => outcome === "info" || outcome === "unheard"
