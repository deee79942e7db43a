import { whenAborted } from "../../clock/clock.ts"
import { HooklineError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import type { Broker, LogReader, OffsetRange, StoredRecord, TimeRange, TopicInfo } from "../broker.ts"

/** A log in memory. It outlives the application that publishes to it, and ends with the process. */
export class MemoryLog implements Broker, LogReader {
  readonly #topics = new Map<string, StoredRecord[]>()
  readonly #all: StoredRecord[] = []
  #grown = Promise.withResolvers<void>()

  /** In order of publication. @param topic undefined: all topics */
  records(topic?: string): readonly StoredRecord[] {
    return topic === undefined ? [...this.#all] : [...(this.#topics.get(topic) ?? [])]
  }

  publish({ topic, key, value, headers = [], timestampMs = Date.now() }: Record): Promise<Receipt> {
    const stored = this.#topics.getOrInsert(topic, [])
    const offset = stored.length
    const record: StoredRecord = { topic, partition: 0, offset, timestampMs, key, value, headers }
    stored.push(record)
    this.#all.push(record)
    this.#grown.resolve()
    this.#grown = Promise.withResolvers()
    return Promise.resolve({ partition: 0, offset })
  }

  prepare(topics: readonly string[]): void {
    for (const topic of topics) this.#topics.getOrInsert(topic, [])
  }

  ready(): true {
    return true
  }

  topics(): Promise<TopicInfo[]> {
    const infos = [...this.#topics].map(([topic, records]) => ({
      topic,
      partitions: 1,
      records: records.length,
      bytes: records.reduce((sum, { key, value }) => sum + value.length + (key?.length ?? 0), 0),
    }))
    return Promise.resolve(infos)
  }

  clusterId(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  async ranges(topic: string, { sinceMs, untilMs }: TimeRange = {}): Promise<OffsetRange[]> {
    const records = this.#recordsOf(topic)
    const firstAt = (ms: number): number => {
      const at = records.findIndex(({ timestampMs }) => timestampMs >= ms)
      return at < 0 ? records.length : at
    }
    const first = sinceMs === undefined ? 0 : firstAt(sinceMs)
    const end = untilMs === undefined ? records.length : Math.max(first, firstAt(untilMs))
    return [{ partition: 0, first, end }]
  }

  async *read(
    topic: string,
    ranges: readonly OffsetRange[],
    { signal }: { readonly signal: AbortSignal },
  ): AsyncIterable<StoredRecord> {
    const records = this.#recordsOf(topic)
    const aborted = whenAborted(signal)
    for (const { first, end } of ranges) {
      for (let next = first; next < end && !signal.aborted;) {
        if (next < records.length) yield records[next++]!
        else if (Number.isFinite(end)) break
        else await Promise.race([this.#grown.promise, aborted])
      }
    }
  }

  #recordsOf(topic: string): readonly StoredRecord[] {
    const records = this.#topics.get(topic)
    if (records === undefined) throw new HooklineError("no_topic", `there is no topic ${topic}`)
    return records
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
