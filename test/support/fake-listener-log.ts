import type {
  Log,
  LogRecord,
  Offsets,
  PartitionOf,
  Placed,
  TopicOfLog,
} from "../../src/kafka-listener/log.ts"

/** A log in memory, of topics with one partition, for the listener's own tests. */
export class FakeLog implements Log {
  readonly directory = "/memory"
  readonly clusterId = "memory"
  readonly epoch = 0
  readonly #topics: { readonly name: string; readonly records: LogRecord[] }[] = []

  /** Makes the topic where it does not exist. */
  append(name: string, value: Uint8Array): void {
    let topic = this.#topics.find((one) => one.name === name)
    if (topic === undefined) this.#topics.push((topic = { name, records: [] }))
    const offset = topic.records.length
    topic.records.push({ offset, timestamp: 1_795_000_000_000 + offset, key: null, headers: null, value })
  }

  close(): void {}

  explain(error: unknown): unknown {
    return error
  }

  atOnce<T>(read: () => T): T {
    return read()
  }

  topics(): readonly TopicOfLog[] {
    return this.#topics.map(({ name }, at) => ({ id: at + 1, name, partitions: 1 }))
  }

  offsets({ topic, partition }: PartitionOf): Offsets | undefined {
    const records = this.#topics[topic.id - 1]?.records
    return partition === 0 && records !== undefined ? { first: 0, end: records.length } : undefined
  }

  bytes(of: PartitionOf): number {
    return this.#records(of).reduce((bytes, { value }) => bytes + value.length, 0)
  }

  records(of: PartitionOf, offset: number): Iterable<LogRecord> {
    return this.#records(of).slice(offset)
  }

  firstAt(of: PartitionOf, timeMs: number): Placed | undefined {
    return placed(this.#records(of).find(({ timestamp }) => timestamp >= timeMs))
  }

  last(of: PartitionOf): Placed | undefined {
    return placed(this.#records(of).at(-1))
  }

  epochAt(): number {
    return 0
  }

  epochUpTo(): number {
    return 0
  }

  epochEnd(): undefined {}

  #records({ topic }: PartitionOf): readonly LogRecord[] {
    return this.#topics[topic.id - 1]!.records
  }
}

const placed = (record: LogRecord | undefined): Placed | undefined =>
  record && { offset: record.offset, timestampMs: record.timestamp }
