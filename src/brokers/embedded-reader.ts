import { Database } from "bun:sqlite"
import { existsSync } from "node:fs"
import { HooklineError } from "../errors.ts"
import type { LogReader, StoredRecord, TopicInfo } from "./broker.ts"
import { logPath, recordsTable } from "./embedded-file.ts"
import { unpackHeaders } from "./embedded-headers.ts"

const POLL_MS = 50
const SLICE = 256

interface TopicRow {
  id: number
  name: string
  first_offset: number
  first_position: number
}

interface RecordRow {
  offset: number
  timestamp: number
  key: Uint8Array | null
  headers: Uint8Array | null
  value: Uint8Array
}

/**
 * Opens the log in a directory for reading; it may be written to meanwhile.
 *
 * @throws HooklineError `no_input`
 */
export function openEmbeddedReader(directory: string): LogReader {
  const path = logPath(directory)
  if (!existsSync(path)) throw new HooklineError("no_input", `There is no log in ${directory}`)
  const db = new Database(path, { readwrite: true, create: false })
  db.run("PRAGMA busy_timeout = 5000")

  const topicRow = (topic: string): TopicRow | null =>
    db.query<TopicRow, [string]>("SELECT * FROM topics WHERE name = ?").get(topic)
  const lastOf = (id: number) =>
    db
      .query<{ offset: number; end_position: number }, []>(
        `SELECT offset, end_position FROM ${recordsTable(id)} ORDER BY offset DESC LIMIT 1`,
      )
      .get()

  return {
    topics: async () =>
      db
        .query<TopicRow, []>("SELECT * FROM topics ORDER BY name")
        .all()
        .map((row): TopicInfo => {
          const last = lastOf(row.id)
          return {
            topic: row.name,
            partitions: 1,
            records: last === null ? 0 : last.offset + 1 - row.first_offset,
            bytes: last === null ? 0 : last.end_position - row.first_position,
          }
        }),

    async *read(topic, { from, follow, signal }) {
      const row = topicRow(topic)
      if (row === null) throw new HooklineError("no_topic", `There is no topic ${topic} in ${directory}`)
      const endAtStart = (lastOf(row.id)?.offset ?? row.first_offset - 1) + 1
      let next = from === "beginning" ? 0 : from === "end" ? endAtStart : from
      const records = db.prepare<RecordRow, [number, number]>(
        `SELECT offset, timestamp, key, headers, value FROM ${recordsTable(row.id)}
         WHERE offset >= ? ORDER BY offset LIMIT ?`,
      )
      while (!signal.aborted) {
        const limit = follow ? SLICE : Math.min(SLICE, endAtStart - next)
        const slice = limit > 0 ? records.all(next, limit) : []
        for (const record of slice) {
          next = record.offset + 1
          const stored: StoredRecord = {
            topic,
            partition: 0,
            offset: record.offset,
            timestampMs: record.timestamp,
            key: record.key ?? undefined,
            value: record.value,
            headers: unpackHeaders(record.headers),
          }
          yield stored
          if (signal.aborted) return
        }
        if (slice.length > 0) continue
        if (!follow) return
        await Bun.sleep(POLL_MS)
      }
    },

    close: async () => db.close(),
  }
}
