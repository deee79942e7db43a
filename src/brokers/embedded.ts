import type { Statement } from "bun:sqlite"
import { mkdirSync } from "node:fs"
import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { Broker } from "./broker.ts"
import { openLogFile, recordsTable } from "./embedded-file.ts"
import { packHeaders } from "./embedded-headers.ts"

export interface EmbeddedOptions {
  /** Folder of the log; made when it is not there. */
  readonly directory: string
  /** How long records are kept, in milliseconds. */
  readonly retention?: number
  /** How many bytes of keys and values are kept, over all topics; the oldest records go first. */
  readonly retention_bytes?: number
}

export interface EmbeddedDeps {
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

interface Waiting {
  readonly record: Record
  readonly deadlineMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: PublishError) => void
}

interface Topic {
  readonly insert: Statement
  nextOffset: number
  position: number
}

/**
 * Opens the log in a directory for publishing.
 *
 * @throws HooklineError `log_locked`, `log_io`
 */
export function openEmbedded(options: EmbeddedOptions, deps: EmbeddedDeps): Broker {
  mkdirSync(options.directory, { recursive: true })
  const db = openLogFile(options.directory)
  const now = deps.now ?? Date.now
  const topics = new Map<string, Topic>()
  let waiting: Waiting[] = []
  let closed = false

  const topicOf = (name: string): Topic => {
    const known = topics.get(name)
    if (known !== undefined) return known
    db.query("INSERT OR IGNORE INTO topics (name, first_offset, first_position) VALUES (?, 0, 0)").run(name)
    const row = db
      .query<{ id: number; first_offset: number; first_position: number }, [string]>(
        "SELECT id, first_offset, first_position FROM topics WHERE name = ?",
      )
      .get(name)!
    const table = recordsTable(row.id)
    db.run(
      `CREATE TABLE IF NOT EXISTS ${table} (
        offset INTEGER PRIMARY KEY, end_position INTEGER NOT NULL, timestamp INTEGER NOT NULL,
        key BLOB, headers BLOB, value BLOB NOT NULL
      ) STRICT`,
    )
    const last = db
      .query<{ offset: number; end_position: number }, []>(
        `SELECT offset, end_position FROM ${table} ORDER BY offset DESC LIMIT 1`,
      )
      .get()
    const topic = {
      insert: db.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?)`),
      nextOffset: last === null ? row.first_offset : last.offset + 1,
      position: last === null ? row.first_position : last.end_position,
    }
    topics.set(name, topic)
    return topic
  }

  const flush = (): void => {
    const batch = waiting
    waiting = []
    const startedAtMs = now()
    const receipts: Receipt[] = []
    try {
      db.transaction(() => {
        for (const { record } of batch) {
          const topic = topicOf(record.topic)
          topic.position += record.value.length + (record.key?.length ?? 0)
          const headers =
            record.headers === undefined || record.headers.length === 0 ? null : packHeaders(record.headers)
          const offset = topic.nextOffset++
          topic.insert.run(offset, topic.position, startedAtMs, record.key ?? null, headers, record.value)
          receipts.push({ partition: 0, offset })
        }
      })()
    } catch (cause) {
      topics.clear()
      const error = new PublishError("log_io", `The log in ${options.directory} can't be written`, { cause })
      for (const { reject } of batch) reject(error)
      return
    }
    deps.metrics.batch(batch.length, now() - startedAtMs)
    batch.forEach(({ resolve }, at) => resolve(receipts[at]!))
  }

  return {
    publish(record, deadlineMs) {
      if (closed) return Promise.reject(new PublishError("closing", "The log is closing"))
      return new Promise((resolve, reject) => {
        if (waiting.push({ record, deadlineMs, resolve, reject }) === 1) setImmediate(flush)
      })
    },
    prepare() {},
    ready: () => (closed ? "the log is closed" : true),
    close: async () => {
      if (closed) return
      closed = true
      if (waiting.length > 0) flush()
      db.close()
    },
  }
}
