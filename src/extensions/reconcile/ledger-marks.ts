import type { Database } from "bun:sqlite"
import type { LogPlace } from "../../brokers/log-place.ts"

/*
 * The log's ends when events were listed, in a ledger's file:
 *
 *   marks   id | at, by the sender's clock
 *   places  mark | topic | partition | log, topic_id, epoch, epoch_id, start, offset: see LogPlace
 *
 * A mark is made before the sender's list is read, and `events.mark` is the newest one when an event's outcome was found. So the
 * record of an event that has an earlier mark is before the places of each later one, and a log that has all records before the
 * places of a mark has those of all events of earlier marks. Each mark of events is followed by one that stays, which says where
 * their records end at the latest, and by one that is moved on until an event has it. A mark has only the places that moved since
 * the one before.
 */

/** A place with the number of its mark. */
export interface MarkedPlace extends LogPlace {
  readonly mark: number
  readonly topic: string
  readonly partition: number
}

interface PlaceRow {
  readonly mark: number
  readonly topic: string
  readonly partition: number
  readonly log: string | null
  readonly topic_id: string | null
  readonly epoch: number | null
  readonly epoch_id: number | null
  readonly start: number | null
  readonly offset: number
}

/** Events whose records may be gone: those of this mark and later ones that were sent before a time. */
export interface Doubt {
  readonly mark: number
  readonly untilMs: number
}

/** Times are the sender's, in milliseconds since 1970. */
export interface SetBack {
  readonly doubts: readonly Doubt[]
  /** The first mark that the log does not agree with; undefined: it agrees with all, and has new gaps. */
  readonly badMark: number | undefined
  readonly nowMs: number
  readonly windowMs: number
  /** A delivery may have been published so much later than it was sent. */
  readonly latencyMs: number
}

/** A time, by the sender's clock, in which what it delivered is not known to be in the log. */
export interface DoubtfulTime {
  readonly fromMs: number
  readonly untilMs: number
}

export class LedgerMarks {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** The newest mark; 0: there is none. */
  get newest(): number {
    return this.#db.query<{ n: number }, []>("SELECT coalesce(max(id), 0) AS n FROM marks").get()!.n
  }

  /** @param isNewest the last one of each partition alone */
  places(isNewest: boolean): MarkedPlace[] {
    const columns = "topic, partition, log, topic_id, epoch, start, offset, epoch_id FROM places"
    const sql = isNewest
      ? `SELECT max(mark) AS mark, ${columns} GROUP BY topic, partition`
      : `SELECT mark, ${columns} ORDER BY mark`
    return this.#db
      .query<PlaceRow, []>(sql)
      .all()
      .map(({ mark, topic, partition, log, topic_id: topicId, epoch, start, offset, epoch_id: id }) => ({
        mark,
        topic,
        partition,
        clusterId: log ?? undefined,
        topicId: topicId ?? undefined,
        epoch: epoch === null ? undefined : { number: epoch, start: start!, id: id ?? undefined },
        offset,
      }))
  }

  /** When a mark was made; undefined: there is none of that number. */
  timeOf(mark: number): number | undefined {
    return this.#db.query<{ at: number }, [number]>("SELECT at FROM marks WHERE id = ?").get(mark)?.at
  }

  /** Notes how far the log is, within a transaction. */
  put(atMs: number, places: readonly Omit<MarkedPlace, "mark">[]): void {
    const { newest } = this
    const used = this.#db.query<{ n: number }, []>("SELECT coalesce(max(mark), 0) AS n FROM events").get()!.n
    const mark = Math.min(newest + 1, used + 2)
    this.#db.query("INSERT OR REPLACE INTO marks VALUES (?, ?)").run(mark, atMs)
    const before = new Map(this.places(true).map((it) => [`${it.topic} ${it.partition}`, it]))
    const put = this.#db.query("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
    for (const place of places) {
      const { topic, partition, clusterId, topicId, epoch, offset } = place
      const last = before.get(`${topic} ${partition}`)
      if (last?.offset === offset && last.clusterId === clusterId && last.epoch?.id === epoch?.id) continue
      const { number = null, start = null, id = null } = epoch ?? {}
      put.run(mark, topic, partition, clusterId ?? null, topicId ?? null, number, start, offset, id)
    }
  }

  /** Deletes a mark and later ones, within a transaction. */
  deleteFrom(mark: number): void {
    this.#db.query("DELETE FROM marks WHERE id >= ?").run(mark)
    this.#db.query("DELETE FROM places WHERE mark >= ?").run(mark)
  }

  /** Deletes marks from before a time, within a transaction, but for the last places of partitions. */
  trim(beforeMs: number): void {
    this.#db.query("DELETE FROM marks WHERE at < ? AND id < (SELECT max(id) FROM marks)").run(beforeMs)
    this.#db.run(
      `DELETE FROM places WHERE mark < (SELECT min(id) FROM marks) AND EXISTS (
         SELECT 1 FROM places AS later
         WHERE later.topic = places.topic AND later.partition = places.partition AND later.mark > places.mark
           AND later.mark <= (SELECT min(id) FROM marks))`,
    )
  }
}

export function createMarks(db: Database): void {
  const has = db.query("SELECT 1 FROM pragma_table_info('events') WHERE name = 'mark'").get() !== null
  // of an earlier version
  if (!has) db.run("ALTER TABLE events ADD COLUMN mark INTEGER NOT NULL DEFAULT 0")
  db.run("CREATE TABLE IF NOT EXISTS marks (id INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT")
  db.run("CREATE INDEX IF NOT EXISTS events_mark ON events (mark)")
  db.run(
    `CREATE TABLE IF NOT EXISTS places (
      mark INTEGER NOT NULL, topic TEXT NOT NULL, partition INTEGER NOT NULL, log TEXT, topic_id TEXT,
      epoch INTEGER, start INTEGER, offset INTEGER NOT NULL, epoch_id INTEGER, PRIMARY KEY (topic, partition, mark)
    ) STRICT, WITHOUT ROWID`,
  )
}
