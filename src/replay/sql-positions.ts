import type { StoredRecord } from "../brokers/broker.ts"

/** A database or a transaction of it, such as Bun's `SQL`: a tag whose values are parameters of the statement. */
export type SqlTag = (strings: TemplateStringsArray, ...values: unknown[]) => PromiseLike<unknown>

/** A PostgreSQL or SQLite database, such as Bun's `SQL`. */
export interface SqlDatabase extends SqlTag {
  unsafe(statement: string): PromiseLike<unknown>
}

/*
 * Which records a handler has handled, in a table of its own database, written in its transactions: hookline_handled, a row for
 * each record after the handler's saved position.
 *
 *   handler | log: id of the Kafka cluster or embedded log | topic | part | record_offset | record_time: so that a topic that
 *   was created again, whose offsets begin anew, is another one
 *
 * A second transaction of one record fails by the primary key. Rows before the saved position are deleted now and then.
 */
export class SqlPositions {
  readonly #sql: SqlDatabase
  readonly #place: { readonly group: string; readonly log: () => string }
  #created: Promise<unknown> | undefined
  /** Of records handled since the last deletion. */
  #handled = 0

  constructor(sql: SqlDatabase, place: { readonly group: string; readonly log: () => string }) {
    this.#sql = sql
    this.#place = place
  }

  /** Whether a record was handled. @throws the database's error */
  async has({ topic, partition, offset, timestampMs }: StoredRecord): Promise<boolean> {
    await this.#create()
    const { group, log } = this.#place
    const rows = await this.#sql`SELECT 1 FROM hookline_handled WHERE handler = ${group} AND log = ${log()}
      AND topic = ${topic} AND part = ${partition} AND record_offset = ${offset} AND record_time = ${timestampMs}`
    return (rows as readonly unknown[]).length > 0
  }

  /** Stores in a transaction that a record is handled. */
  of({ topic, partition, offset, timestampMs }: StoredRecord): (tx: SqlTag) => Promise<void> {
    const { group, log } = this.#place
    return async (tx) => {
      await this.#create()
      await tx`INSERT INTO hookline_handled VALUES (${group}, ${log()}, ${topic}, ${partition}, ${offset}, ${timestampMs})`
      this.#handled++
    }
  }

  /** Deletes the rows of records before a position that is durable. */
  async saved(topic: string, next: ReadonlyMap<number, number>): Promise<void> {
    if (this.#handled < DELETED_AFTER) return
    this.#handled = 0
    const { group, log } = this.#place
    for (const [partition, offset] of next)
      await this.#sql`DELETE FROM hookline_handled WHERE handler = ${group} AND log = ${log()} AND topic = ${topic}
        AND part = ${partition} AND record_offset < ${offset}`
  }

  #create(): Promise<unknown> {
    return (this.#created ??= Promise.resolve(
      this.#sql.unsafe(
        `CREATE TABLE IF NOT EXISTS hookline_handled (
          handler VARCHAR(200) NOT NULL, log VARCHAR(200) NOT NULL, topic VARCHAR(249) NOT NULL, part INTEGER NOT NULL,
          record_offset BIGINT NOT NULL, record_time BIGINT NOT NULL,
          PRIMARY KEY (handler, log, topic, part, record_offset, record_time)
        )`,
      ),
    ).catch((error: unknown) => {
      this.#created = undefined
      throw error
    }))
  }
}

const DELETED_AFTER = 1000
