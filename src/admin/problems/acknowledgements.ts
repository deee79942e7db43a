import { steadyMs } from "../../clock/clock.ts"
import type { Acknowledgement } from "../api/problem-shapes.ts"
import type { ServiceStore } from "../store/service-store.ts"

/*
 * Answers of people to problems, in the groups `acknowledged` and `muted` of the service's store:
 *
 *   acknowledged   by a problem's id: somebody is on it. It holds until the problem is over, or until a time.
 *   muted          by a problem's id, or a kind for all of its problems: nobody needs to know. It holds until a time, or until it
 *                  is taken back, also for what begins later.
 */

/** The interval in which replicas read the store that they share. */
const AGAIN_MS = 5000
/** The pause before a store that could not be read is read again. */
const RETRY_MS = 2000

const GROUPS = ["acknowledged", "muted"] as const
export type AcknowledgementGroup = (typeof GROUPS)[number]

type Entries = Map<string, Acknowledgement>

export class Acknowledgements {
  #store: ServiceStore | undefined
  readonly #entries: { readonly [group in AcknowledgementGroup]: Entries } = {
    acknowledged: new Map(),
    muted: new Map(),
  }
  #readAgainMs = 0
  #reading: Promise<void> | undefined

  /** Keeps them in a store, as of the commit of a start or reload. */
  use(store: ServiceStore): void {
    if (store === this.#store) return
    this.#store = store
    this.#readAgainMs = 0
    this.refresh()
  }

  /** Reads what the store has, where it is time for that. */
  refresh(): void {
    if (this.#store === undefined || this.#reading !== undefined || steadyMs() < this.#readAgainMs) return
    this.#reading = this.#read(this.#store).finally(() => (this.#reading = undefined))
  }

  /** Those of a problem that hold now. */
  of(id: string, kind: string, nowMs: number): Record<AcknowledgementGroup, Acknowledgement | null> {
    const { acknowledged, muted } = this.#entries
    const holds = (found: Acknowledgement | undefined): Acknowledgement | null =>
      found === undefined || (found.until !== null && found.until <= nowMs) ? null : found
    return {
      acknowledged: holds(acknowledged.get(id)),
      muted: holds(muted.get(id)) ?? holds(muted.get(kind)),
    }
  }

  /** Ids and kinds that are muted now. */
  muted(nowMs: number): (readonly [name: string, by: Acknowledgement])[] {
    return [...this.#entries.muted].filter(([, { until }]) => until === null || until > nowMs)
  }

  /** @param acknowledgement undefined: takes it back @throws HooklineError: the store can't keep it */
  async set(
    group: AcknowledgementGroup,
    name: string,
    acknowledgement: Acknowledgement | undefined,
  ): Promise<void> {
    const entries = this.#entries[group]
    // what is read now would take the place of what is set
    await this.#reading
    if (acknowledgement === undefined && !entries.has(name)) return
    await this.#store?.write(group, name, acknowledgement && JSON.stringify(acknowledgement))
    if (acknowledgement === undefined) entries.delete(name)
    else entries.set(name, acknowledgement)
  }

  /** A problem is over, and nobody is on it any more. */
  ended(id: string): void {
    // where the store can't be written it is forgotten at its time
    void this.set("acknowledged", id, undefined).catch(() => {})
  }

  async #read(store: ServiceStore): Promise<void> {
    try {
      const read = await Promise.all(GROUPS.map((group) => store.read(group)))
      if (store !== this.#store) return
      for (const [at, group] of GROUPS.entries()) {
        const entries = this.#entries[group]
        entries.clear()
        for (const [name, text] of read[at]!) entries.set(name, JSON.parse(text) as Acknowledgement)
      }
      this.#readAgainMs = store.isShared ? steadyMs() + AGAIN_MS : Infinity
    } catch {
      // another process has it, or it is down: what is known holds
      this.#readAgainMs = steadyMs() + RETRY_MS
    }
  }
}
