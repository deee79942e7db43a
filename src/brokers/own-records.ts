import { steadyMs } from "../clock/clock.ts"
import type { Record } from "../pipeline/record.ts"
import type { Broker } from "./broker.ts"

/** How long a record may take to be durable. */
const PUBLISHED_WITHIN_MS = 30_000

/** Publishes records that are no events, such as certificates, on a broker that is opened for the first of them. */
export class OwnRecords implements AsyncDisposable {
  readonly #open: () => Promise<Broker>
  #broker: Promise<Broker> | undefined

  /** @param open of a broker that is this one's alone */
  constructor(open: () => Promise<Broker>) {
    this.#open = open
  }

  /** Resolves once it is durable. @throws PublishError, HooklineError of a broker that can't be opened: the next one tries again */
  async publish(record: Record): Promise<void> {
    const opening = (this.#broker ??= this.#open())
    const broker = await opening.catch((error: unknown) => {
      if (this.#broker === opening) this.#broker = undefined
      throw error
    })
    await broker.publish(record, steadyMs() + PUBLISHED_WITHIN_MS)
  }

  /** Publishes what was accepted, and closes the broker; it is opened again for the next record. */
  async close(): Promise<void> {
    const opening = this.#broker
    this.#broker = undefined
    const broker = await opening?.catch(() => undefined)
    await broker?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
