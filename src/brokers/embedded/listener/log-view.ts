import { createHash } from "node:crypto"
import type { Database, Statement } from "bun:sqlite"
import { steadyMs } from "../../../clock.ts"
import { logIn } from "../../../storage/database-file.ts"
import { endOf, firstAt, RECORD_COLUMNS, recordsTable, type RecordRow, type TopicRow } from "../log-tables.ts"
import { openForReading } from "../reader.ts"
import { encodeRecordBatch, type RecordBatch } from "./protocol/record-batch.ts"

/** Between two looks for topics that are not there: clients ask again. */
const LOOK_MS = 50

/** A topic as clients see it. */
export interface Topic {
  readonly id: number
  readonly name: string
  /** In base64url; the same for as long as the log is. */
  readonly uuid: string
}

/** Offsets of a partition: of its first record, and behind its last. */
export interface Offsets {
  readonly first: number
  readonly end: number
}

/**
 * The log as the listener reads it. While the writer recovers its file, which it can't with readers around, the view is
 * closed, and requests wait for `whenOpen`.
 */
export class LogView {
  readonly directory: string
  #db: Database | undefined
  #opened = Promise.withResolvers<void>()
  #topics = new Map<string, Topic>()
  #topicsByUuid = new Map<string, Topic>()
  #statements = new Map<number, Statement<RecordRow, [number]>>()
  #clusterId = ""
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(directory: string) {
    this.directory = directory
  }

  /** @throws HooklineError `no_input` */
  open(): void {
    if (this.#db !== undefined) return
    const db = openForReading(logIn(this.directory))
    this.#db = db
    this.#clusterId = db
      .query<{ cluster_id: string }, []>("SELECT cluster_id FROM identity")
      .get()!.cluster_id
    this.#opened.resolve()
  }

  close(): void {
    if (this.#db === undefined) return
    for (const statement of this.#statements.values()) statement.finalize()
    this.#statements.clear()
    this.#db.close(true)
    this.#db = undefined
    this.#opened = Promise.withResolvers()
  }

  /** undefined: it is open. */
  whenOpen(): Promise<void> | undefined {
    return this.#db === undefined ? this.#opened.promise : undefined
  }

  get clusterId(): string {
    return this.#clusterId
  }

  /** By name. */
  topics(): readonly Topic[] {
    for (const { id, name } of this.#open.query<TopicRow, []>("SELECT * FROM topics").all())
      if (!this.#topics.has(name)) this.#add({ id, name, uuid: this.#uuidOf(id) })
    return [...this.#topics.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  topic(name: string): Topic | undefined {
    if (!this.#topics.has(name)) this.#look()
    return this.#topics.get(name)
  }

  topicById(uuid: string): Topic | undefined {
    if (!this.#topicsByUuid.has(uuid)) this.#look()
    return this.#topicsByUuid.get(uuid)
  }

  /** Looks for new topics, once for all that a request asks for. */
  #look(): void {
    if (steadyMs() - this.#lookedMs < LOOK_MS) return
    this.topics()
    this.#lookedMs = steadyMs()
  }

  offsets(topic: Topic): Offsets {
    const row = this.#row(topic)
    return { first: row.first_offset, end: endOf(this.#open, row).offset }
  }

  /** Bytes of keys, values and headers. */
  bytes(topic: Topic): number {
    const row = this.#row(topic)
    return endOf(this.#open, row).position - row.first_position
  }

  /**
   * The records from an offset on, as one batch.
   *
   * @param maxBytes as `encodeRecordBatch`
   */
  batch(topic: Topic, offset: number, maxBytes: number): RecordBatch | undefined {
    let statement = this.#statements.get(topic.id)
    if (statement === undefined) {
      statement = this.#open.prepare<RecordRow, [number]>(
        `SELECT ${RECORD_COLUMNS} FROM ${recordsTable(topic.id)} WHERE offset >= ? ORDER BY offset`,
      )
      this.#statements.set(topic.id, statement)
    }
    return encodeRecordBatch(statement.iterate(offset), maxBytes)
  }

  /** The first record at or after a time; undefined: there is none. */
  firstAt(
    topic: Topic,
    timeMs: number,
  ): { readonly offset: number; readonly timestampMs: number } | undefined {
    const row = this.#row(topic)
    const range = { first: row.first_offset, end: endOf(this.#open, row).offset }
    return this.#timeFrom(topic, firstAt(this.#open, row, range, timeMs))
  }

  /** The last record; undefined: there is none. */
  last(topic: Topic): { readonly offset: number; readonly timestampMs: number } | undefined {
    return this.#timeFrom(topic, this.offsets(topic).end - 1)
  }

  #timeFrom(topic: Topic, offset: number): { offset: number; timestampMs: number } | undefined {
    const found = this.#open
      .query<{ offset: number; timestampMs: number }, [number]>(
        `SELECT offset, timestamp AS timestampMs FROM ${recordsTable(topic.id)}
         WHERE offset >= ? ORDER BY offset LIMIT 1`,
      )
      .get(offset)
    return found ?? undefined
  }

  #row({ id }: Topic): TopicRow {
    return this.#open.query<TopicRow, [number]>("SELECT * FROM topics WHERE id = ?").get(id)!
  }

  #add(topic: Topic): void {
    this.#topics.set(topic.name, topic)
    this.#topicsByUuid.set(topic.uuid, topic)
  }

  #uuidOf(topicId: number): string {
    const hash = createHash("sha256").update(`${this.#clusterId}/${topicId}`).digest()
    return hash.subarray(0, 16).toString("base64url")
  }

  get #open(): Database {
    if (this.#db === undefined) throw new Error("the log is not open")
    return this.#db
  }
}
