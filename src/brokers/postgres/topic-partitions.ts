import type { PostgresLink } from "../../postgres/link.ts"
import { quoted } from "../../postgres/migrations.ts"
import type { UncommittedRecord } from "../batch-publisher.ts"
import { isPlaced, partitionFor } from "../placement.ts"

/** A partition's id in the database, by its number in the topic. */
type Ids = readonly number[]

/** A record, and the partition that it goes to. */
export interface PlacedRecord {
  readonly one: UncommittedRecord
  /** The partition's id in the database. */
  readonly id: number
  /** The partition's number in the topic. */
  readonly number: number
}

/** The partitions of topics, which are created when they are first asked for. */
export class TopicPartitions {
  readonly #statement: string
  #partitions: number
  readonly #ids = new Map<string, Ids>()
  /** The partition that records without a key go to next. */
  #turn = 0

  constructor(schema: string, partitions: number) {
    this.#statement = `SELECT topic, id FROM ${quoted(schema)}.create_topics($1::text[], $2::integer)`
    this.#partitions = partitions
  }

  /** Forgets all: another connection may be one to another database. */
  forget(): void {
    this.#ids.clear()
  }

  /** Creates topics. @throws what `PostgresLink.run` throws */
  async create(link: PostgresLink, topics: Iterable<string>): Promise<void> {
    const missing = [...new Set(topics)].filter((it) => !this.#ids.has(it))
    if (missing.length === 0) return
    const names = `{${missing.map((it) => `"${it}"`).join()}}`
    const { rows } = await link.run<{ topic: string; id: number }>(this.#statement, [names, this.#partitions])
    for (const [topic, of] of Map.groupBy(rows, (row) => row.topic))
      this.#ids.set(
        topic,
        of.map(({ id }) => id),
      )
  }

  /** Finds the partition of each record; those without a key go to one together. @throws what `PostgresLink.run` throws */
  async place(link: PostgresLink, records: readonly UncommittedRecord[]): Promise<readonly PlacedRecord[]> {
    await this.create(
      link,
      records.map(({ record }) => record.topic),
    )
    const turn = this.#turn++
    return records.map((one) => {
      const ids = this.#ids.get(one.record.topic)!
      const number = isPlaced(one.record) ? partitionFor(one.record, ids.length) : turn % ids.length
      return { one, id: ids[number]!, number }
    })
  }
}
