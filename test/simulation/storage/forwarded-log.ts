import type { LogReader, StoredRecord } from "../../../src/brokers/broker.ts"
import { pause } from "../../../src/clock/clock.ts"
import { HooklineError } from "../../../src/errors.ts"
import { BEGINS_MS } from "../simulated-process.ts"
import type { World } from "../world.ts"

/** What the target answers a record, always: a refusal for good, or a fault. Undefined: it accepts it. */
export type Poison = 422 | 500 | undefined

export interface Appended {
  readonly record: StoredRecord
  readonly poison: Poison
  readonly isForwarded: boolean
}

export const TOPIC = "hooks"
/** Records with another value of this member are not forwarded. */
export const WHERE = "json:/w=1"
const POLL_MS = 25

/** A log elsewhere that is up or down, whose records stay. */
export class ForwardedLog {
  readonly partitions: readonly Appended[][]
  isDown = false
  readonly #world: World
  #count = 0

  constructor(world: World, partitions: number) {
    this.#world = world
    this.partitions = Array.from({ length: partitions }, () => [])
  }

  /** @param keyNumber below 0: none */
  append(keyNumber: number, poison: Poison, isForwarded: boolean): Appended {
    const number = this.#count++
    const key = keyNumber < 0 ? undefined : `key-${keyNumber}`
    const partition = (keyNumber < 0 ? number : keyNumber) % this.partitions.length
    const all = this.partitions[partition]!
    const one: Appended = {
      record: {
        topic: TOPIC,
        partition,
        offset: all.length,
        timestampMs: Math.floor(BEGINS_MS + this.#world.nowMs),
        key: key === undefined ? undefined : Buffer.from(key),
        value: Buffer.from(`{"id":${number},"w":${isForwarded ? 1 : 0}}`),
        headers: [],
      },
      poison,
      isForwarded,
    }
    all.push(one)
    const what = isForwarded ? `, always ${poison ?? "accepted"}` : ", not forwarded"
    this.#world.tell("log", `${placeOf(one.record)}, ${key ?? "no key"}${what}`)
    return one
  }

  get all(): readonly Appended[] {
    return this.partitions.flat()
  }

  reader(): LogReader {
    const check = (): void => {
      if (this.isDown) throw new HooklineError("unavailable", "the log is down")
    }
    const next = new Map<number, number>()
    const newest = (): StoredRecord[] =>
      this.partitions.flatMap((all, partition) => all.slice(next.get(partition)).map(({ record }) => record))
    return {
      topics: () => Promise.resolve([]),
      clusterId: () => Promise.resolve("log"),
      ranges: async () => {
        check()
        return this.partitions.map((all, partition) => ({ partition, first: 0, end: all.length }))
      },
      async *read(_, ranges, { signal }) {
        for (const { partition, first } of ranges) next.set(partition, first)
        while (!signal.aborted) {
          check()
          for (const record of newest()) {
            next.set(record.partition, record.offset + 1)
            yield record
          }
          await pause(POLL_MS, signal)
        }
      },
      close: () => Promise.resolve(),
    }
  }
}

export const placeOf = ({ partition, offset }: { partition: number; offset: number }): string =>
  `${partition}@${offset}`
