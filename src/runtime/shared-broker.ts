import type { Broker } from "../brokers/broker.ts"
import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../pipeline/record.ts"

/** A connection's broker of the present plan, next to the pipelines that publish to it. */
export class SharedBroker implements Broker {
  readonly #current: () => Broker | undefined

  /** @param current undefined: the connection is no longer configured */
  constructor(current: () => Broker | undefined) {
    this.#current = current
  }

  async publish(record: Record, deadlineMs: number): Promise<Receipt> {
    const broker = this.#current()
    if (broker === undefined) throw new PublishError("closing", GONE)
    return broker.publish(record, deadlineMs)
  }

  /** The pipelines' topics are prepared; another's is looked up when it is published to. */
  prepare(): void {}

  ready(): true | string {
    return this.#current()?.ready() ?? GONE
  }

  /** It stays open. */
  async close(): Promise<void> {}
}

const GONE = "the connection is no longer configured"
