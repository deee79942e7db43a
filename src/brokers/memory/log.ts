import { HooklineError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import type { Broker, LogReader, ReadFrom, StoredRecord, TopicInfo } from "../broker.ts"

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
    const stored = this.#topics.get(topic) ?? []
    const offset = stored.length
    const record: StoredRecord = { topic, partition: 0, offset, timestampMs, key, value, headers }
    this.#topics.set(topic, stored)
    stored.push(record)
    this.#all.push(record)
    this.#grown.resolve()
    this.#grown = Promise.withResolvers()
    return Promise.resolve({ partition: 0, offset })
  }

  prepare(topics: readonly string[]): void {
    for (const topic of topics) if (!this.#topics.has(topic)) this.#topics.set(topic, [])
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

  async *read(
    topic: string,
    { from, follow, signal }: { from: ReadFrom; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<StoredRecord> {
    const records = this.#topics.get(topic)
    if (records === undefined) throw new HooklineError("no_topic", `there is no topic ${topic}`)
    const aborted = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true })
    })
    let next = from === "beginning" ? 0 : from === "end" ? records.length : from
    for (let end = records.length; !signal.aborted; end = records.length) {
      while (next < end && !signal.aborted) yield records[next++]!
      if (!follow) return
      if (next >= records.length) await Promise.race([this.#grown.promise, aborted])
    }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
