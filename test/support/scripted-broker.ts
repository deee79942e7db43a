import type { YieldingBroker } from "../../src/brokers/broker.ts"
import { PublishError } from "../../src/errors.ts"
import type { Receipt, Record } from "../../src/pipeline/record.ts"
import { steadyMs } from "../../src/clock/clock.ts"

interface Waiting {
  readonly record: Record
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: PublishError) => void
  timer: Timer | undefined
}

/** A broker in memory that does what a test says: up, down (and says so), or stalled (it seems to be up). */
export class ScriptedBroker implements YieldingBroker {
  /** What it acknowledged, or took without saying so. */
  readonly log: Record[] = []
  /** Topics that it was told. */
  readonly prepared = new Set<string>()
  /** Refuses a record for good, or for now. */
  refuses: (record: Record) => PublishError | undefined = () => undefined
  #state: "up" | "down" | "stalled"
  #waiting: Waiting[] = []
  #scheduled = false

  constructor(state: "up" | "down" | "stalled" = "up") {
    this.#state = state
  }

  /** As it was at first. */
  reset(): void {
    this.log.length = 0
    this.prepared.clear()
    this.refuses = () => undefined
    this.#take(() => true)
    this.#state = "up"
  }

  set state(state: "up" | "down" | "stalled") {
    this.#state = state
    this.#schedule()
  }

  /** How many wait for an acknowledgement. */
  get pending(): number {
    return this.#waiting.length
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    const refusal = this.refuses(record)
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((resolve, reject) => {
      const one: Waiting = { record, resolve, reject, timer: undefined }
      if (deadlineMs < Number.POSITIVE_INFINITY)
        one.timer = setTimeout(() => {
          this.#waiting = this.#waiting.filter((it) => it !== one)
          reject(new PublishError("deadline", "too late"))
        }, deadlineMs - steadyMs())
      this.#waiting.push(one)
      this.#schedule()
    })
  }

  cancel(topic: string): void {
    for (const one of this.#take(({ record }) => record.topic === topic))
      one.reject(new PublishError("unavailable", "taken back"))
  }

  /** The deadline of the oldest that waits passes. */
  expire(): void {
    const [oldest] = this.#waiting
    for (const { reject } of this.#take((one) => one === oldest))
      reject(new PublishError("deadline", "too late"))
  }

  /** Takes what waits into its log, and never says so. */
  takeSilently(): void {
    this.log.push(...this.#waiting.map(({ record }) => record))
  }

  prepare(topics: readonly string[]): void {
    for (const topic of topics) this.prepared.add(topic)
  }

  ready(): true | string {
    return this.#state === "down" ? "it is down" : true
  }

  async close(): Promise<void> {}

  #schedule(): void {
    if (this.#scheduled || this.#state !== "up") return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (this.#state !== "up") return
      for (const one of this.#take(() => true)) {
        this.log.push(one.record)
        one.resolve({ partition: 0, offset: this.log.length - 1 })
      }
    })
  }

  #take(which: (one: Waiting) => boolean): Waiting[] {
    const taken = this.#waiting.filter(which)
    this.#waiting = this.#waiting.filter((one) => !taken.includes(one))
    for (const { timer } of taken) clearTimeout(timer)
    return taken
  }
}
