import { pause } from "../../clock/clock.ts"
import { HooklineError } from "../../errors.ts"
import { connectFailure } from "../../postgres/connect-failure.ts"
import { type Answer, PostgresLink } from "../../postgres/link.ts"
import { quoted } from "../../postgres/migrations.ts"
import type { PostgresServer } from "../../postgres/server.ts"
import { suggest } from "../../words.ts"
import type { LogReader, OffsetRange, StoredRecord, TimeRange, TopicInfo } from "../broker.ts"
import { mergeByTime } from "../merge-by-time.ts"
import { unpackHeaders } from "../packed-headers.ts"

/** Pause between two lookups of a reader that follows. */
const POLL_MS = 100
/** Pause before a database that can't be used is tried again. */
const RETRY_MS = 1000
/** Records and bytes of a lookup; one record is read however large it is. */
const SLICE = { records: 256, bytes: 4 * 1024 * 1024 }

interface PartitionRow {
  readonly id: number
  readonly number: number
  readonly first: number
  readonly next: number
}

interface RecordRow {
  readonly offset: number
  readonly ms: number
  readonly key: Buffer | null
  readonly headers: Buffer | null
  readonly value: Buffer
}

/** A partition, and how far it was read. */
interface Position {
  readonly id: number
  readonly partition: number
  next: number
  readonly end: number
}

interface Reading {
  readonly retries: boolean
  readonly signal: AbortSignal
  readonly missed?: (range: OffsetRange) => void
}

/** Reads a log in PostgreSQL by a connection of its own, which is opened when it is needed and after each failure. */
export class PostgresReader implements LogReader {
  readonly #server: PostgresServer
  readonly #schema: string
  readonly #name: string
  #opening: Promise<PostgresLink> | undefined

  constructor(server: PostgresServer, name: string) {
    this.#server = server
    this.#schema = quoted(server.schema)
    this.#name = name
  }

  async topics(): Promise<TopicInfo[]> {
    const { rows } = await this.#run<{ topic: string; partitions: number; records: number }>(
      `SELECT t.name AS topic, count(*)::integer AS partitions,
        sum(greatest(coalesce((SELECT max(r."offset") + 1 FROM ${this.#schema}.records r WHERE r.partition = p.id), 0), p.first_offset) - p.first_offset)::float8 AS records
      FROM ${this.#schema}.topics t JOIN ${this.#schema}.partitions p ON p.topic = t.id GROUP BY t.name ORDER BY t.name`,
    )
    return rows.map((row) => ({ ...row, bytes: undefined }))
  }

  async clusterId(): Promise<string> {
    const { rows } = await this.#run<{ id: string }>(`SELECT id FROM ${this.#schema}.log`)
    return rows[0]!.id
  }

  async topicId(topic: string): Promise<string | undefined> {
    const { rows } = await this.#run<{ uid: string }>(
      `SELECT uid FROM ${this.#schema}.topics WHERE name = $1`,
      [topic],
    )
    return rows[0]?.uid
  }

  async ranges(topic: string, { sinceMs, untilMs }: TimeRange = {}): Promise<OffsetRange[]> {
    const rows = await this.#partitionsOf(topic)
    return Promise.all(
      rows.map(async ({ id, number, first, next }) => {
        const from = sinceMs === undefined ? first : await this.#firstAt(id, sinceMs, next)
        const end = untilMs === undefined ? next : await this.#firstAt(id, untilMs, next)
        return { partition: number, first: from, end: Math.max(from, end) }
      }),
    )
  }

  async *read(topic: string, ranges: readonly OffsetRange[], reading: Reading): AsyncIterable<StoredRecord> {
    const rows = await this.#partitionsOf(topic)
    const positions = ranges.flatMap(({ partition, first, end }): Position[] => {
      const row = rows.find(({ number }) => number === partition)
      return row === undefined ? [] : [{ id: row.id, partition, next: first, end }]
    })
    if (positions.some(({ end }) => !Number.isFinite(end))) yield* this.#follow(topic, positions, reading)
    else if (positions.length === 1) yield* this.#whole(topic, positions[0]!, reading)
    else yield* mergeByTime(positions.map((position) => this.#whole(topic, position, reading)))
  }

  async close(): Promise<void> {
    const opening = this.#opening
    this.#opening = undefined
    // one that could not be opened has nothing to close
    const link = await opening?.catch(() => {})
    link?.drop()
  }

  async *#whole(topic: string, position: Position, reading: Reading): AsyncGenerator<StoredRecord> {
    while (!reading.signal.aborted && position.next < position.end) {
      const records = await this.#slice(topic, position, reading)
      if (records.length === 0) position.next = position.end
      for (const record of records) {
        if (reading.signal.aborted) return
        position.next = record.offset + 1
        yield record
      }
    }
  }

  /** Reads slices of each in turn, and waits for more where there was none. */
  async *#follow(
    topic: string,
    positions: readonly Position[],
    reading: Reading,
  ): AsyncGenerator<StoredRecord> {
    const { signal } = reading
    while (!signal.aborted && positions.some(({ next, end }) => next < end)) {
      let isIdle = true
      for (const position of positions.filter(({ next, end }) => next < end)) {
        for (const record of await this.#slice(topic, position, reading)) {
          isIdle = false
          if (signal.aborted) return
          position.next = record.offset + 1
          yield record
        }
      }
      if (isIdle) await pause(POLL_MS, signal)
    }
  }

  /** Reads some records from a position on. @throws HooklineError `unavailable`, unless it retries */
  async #slice(
    topic: string,
    position: Position,
    { retries, signal, missed }: Reading,
  ): Promise<StoredRecord[]> {
    const { id, partition, next, end } = position
    for (;;) {
      try {
        const rows = await this.#rows(id, next, end)
        const there = rows[0]?.offset
        if (there !== undefined && there > next) missed?.({ partition, first: next, end: there })
        return rows.map((row) => toStored(topic, partition, row))
      } catch (error) {
        if (!retries || !(error instanceof HooklineError) || error.code !== "unavailable") throw error
        await pause(RETRY_MS, signal)
        if (signal.aborted) return []
      }
    }
  }

  async #rows(id: number, next: number, end: number): Promise<readonly RecordRow[]> {
    const { rows } = await this.#run<RecordRow>(
      `SELECT "offset"::float8 AS "offset", ms, key, headers, value FROM (
        SELECT "offset", (extract(epoch FROM at) * 1000)::float8 AS ms, key, headers, value,
          sum(octet_length(value)) OVER (ORDER BY "offset") AS bytes, row_number() OVER (ORDER BY "offset") AS nth
        FROM (SELECT * FROM ${this.#schema}.records
          WHERE partition = $1 AND "offset" >= $2 AND "offset" < $3 ORDER BY "offset" LIMIT ${SLICE.records}) AS slice
      ) AS sized WHERE nth = 1 OR bytes <= ${SLICE.bytes} ORDER BY "offset"`,
      [id, next, Math.min(end, Number.MAX_SAFE_INTEGER)],
    )
    return rows
  }

  /** The offset of the first record at or after a time; `next`: there is none. */
  async #firstAt(id: number, ms: number, next: number): Promise<number> {
    const { rows } = await this.#run<{ offset: number }>(
      `SELECT "offset"::float8 AS "offset" FROM ${this.#schema}.records
        WHERE partition = $1 AND at >= timestamptz 'epoch' + $2::float8 * interval '1 millisecond' ORDER BY "offset" LIMIT 1`,
      [id, ms],
    )
    return rows[0]?.offset ?? next
  }

  /** Returns the partitions by number. @throws HooklineError `no_topic` */
  async #partitionsOf(topic: string): Promise<readonly PartitionRow[]> {
    const { rows } = await this.#run<PartitionRow>(
      `SELECT p.id, p.number, p.first_offset::float8 AS first,
        greatest(p.first_offset, coalesce((SELECT max(r."offset") + 1 FROM ${this.#schema}.records r WHERE r.partition = p.id), 0))::float8 AS next
      FROM ${this.#schema}.partitions p JOIN ${this.#schema}.topics t ON t.id = p.topic WHERE t.name = $1 ORDER BY p.number`,
      [topic],
    )
    if (rows.length > 0) return rows
    const names = (await this.topics()).map((it) => it.topic)
    throw new HooklineError(
      "no_topic",
      `The log has no topic ${topic}${suggest(topic, names, (name) => name) || "; it has none at all"}`,
    )
  }

  /** @throws HooklineError `unavailable` */
  async #run<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Answer<Row>> {
    const opening = (this.#opening ??= PostgresLink.open(this.#server, this.#name, () => {
      if (this.#opening === opening) this.#opening = undefined
    }))
    try {
      const link = await opening
      return await link.run<Row>(text, values)
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined
      // whatever it was, the next call begins anew
      void opening.then(
        (link) => link.drop(),
        () => {},
      )
      throw connectFailure(this.#server, error)
    }
  }
}

const toStored = (topic: string, partition: number, row: RecordRow): StoredRecord => ({
  topic,
  partition,
  offset: row.offset,
  timestampMs: row.ms,
  key: row.key ?? undefined,
  value: row.value,
  headers: row.headers === null ? [] : unpackHeaders(row.headers),
})
