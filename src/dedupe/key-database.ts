// Hot path: every event of a pipeline with an embedded store passes here.
import type { Database, Statement } from "bun:sqlite"
import { join } from "node:path"
import type { ClockReading, MachineTime } from "../clock/machine-clock.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { createClock, KeptClock } from "../storage/kept-clock.ts"
import { CHECKPOINT_BYTES, DurableDatabase } from "../storage/durable-database.ts"
import type { KeyPlace, KnownPlace, LostKeys } from "../pipeline/record.ts"

/*
 * The file of dedupe keys, `marks.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   marks
 *   id      key                     until  place  offset
 *   18822…  Zx0c…  (22 characters)  1795…  1      4711
 *   18822…  b81T…                   1795…  NULL   NULL
 *
 *   places
 *   id  log    topic     partition  epoch     last  until  gaps  epoch_id
 *   1   Xk2…   webhooks  0          59702400  4711  1795…  0     3915…
 *
 * - `key` is 128 bits of a SHA-256 in base64url, see components/dedupe-key.ts.
 * - `until` is when the key expires, by the clock of the file (storage/kept-clock.ts): setting the time of day makes no key
 *   expire earlier or later.
 * - `id` is the rowid, in order of expiry: `until` times IDS_PER_MS and a number. Expired keys are deleted from the front, each
 *   when its window is over, in whichever order they came. Keys of earlier versions are numbered from 1, in order of addition;
 *   they are renumbered in slices.
 *
 * - `place` and `offset` are those of its event's record in the log of the folder; NULL: of another log, or not known. A log's
 *   epochs are those of brokers/embedded/log-epochs.ts. `last` and `until` are the largest of a place's keys, `gaps` how many of
 *   the log's gaps have been compared with them. When the file and a log are opened, keys whose records the log does not have
 *   are deleted: another log, or an earlier copy, is in its place, or a rescue has left them behind.
 *
 * A key takes about 81 bytes: 1000 events a second for 24 h are 7 GB. Each writes to another page of the index: small pages
 * make small commits (measured from 512 to 16,384 bytes).
 *
 * After a crash: a batch is one transaction, there whole or not at all. Keys committed with their records may be only in the
 * journal of the log next to the file (storage/key-journal.ts).
 */
const PAGE_BYTES = 1024
/** With SQLite's 2 MiB, finding a key among 300,000 takes a fifth longer. */
const CACHE_KIBIBYTES = 16 * 1024
/** What a key counts for until the next checkpoint, which is due after 2000 keys; each writes about two pages to the WAL. */
const BYTES_PER_KEY = CHECKPOINT_BYTES / 2000
/** Deleted at once, in about a millisecond. */
const SLICE_KEYS = 500
/** More than expire in any millisecond. */
const IDS_PER_MS = 2 ** 20
/** Those of earlier versions are below. */
const FIRST_ID = 2 ** 40

/** A key on its way into the file. @param place an index of the batch's places; -1: not known */
export type PlacedKey = readonly [key: string, untilMs: number, place: number, offset: number]

/** The dedupe file in a folder, which may be an embedded log's: the files have names and a lock of their own. */
export function dedupeFileIn(directory: string): DatabaseLocation {
  return {
    file: join(directory, "marks.sqlite"),
    lockFile: join(directory, "marks.lock"),
    applicationId: 0x484b4d4b, // HKMK
    kind: "dedupe store",
    title: `The Deduplicator's store in ${directory}`,
    alternative: "another folder; replicas of one service share a store = redis://...",
    remedy:
      "stop Hookline, then move it away, and retries of earlier events are published again, or restore a backup",
  }
}

export class KeyDatabase extends DurableDatabase {
  readonly clock: KeptClock
  readonly #find: Statement<{ until: number }, [string]>
  readonly #insert: Statement
  readonly #firstExpired: Statement<unknown, [number, number]>
  readonly #deleteExpired: Statement
  readonly #note: Statement<{ id: number }, [string, string, number, number, number, number, number]>

  /** @param machine the time since the machine was started */
  constructor(location: DatabaseLocation, machine?: MachineTime) {
    super(location, {
      pageBytes: PAGE_BYTES,
      createTables(db) {
        createKeyTables(db)
        createClock(db, Date.now, machine)
      },
    })
    this.clock = this.load(() => new KeptClock(this.db, machine))
    this.db.run(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`)
    this.#find = this.db.prepare("SELECT until FROM marks WHERE key = ?")
    // an expired key moves to its new time; a log's journal may have an older one
    this.#insert = this.db.prepare(
      `INSERT OR REPLACE INTO marks (id, key, until, place, offset)
       SELECT ${nextId("later")}, ?1, later, coalesce(?3, place), coalesce(?4, offset)
       FROM (SELECT max(?2, coalesce(until, 0)) AS later, place, offset
             FROM (SELECT 1) LEFT JOIN marks ON key = ?1)`,
    )
    const expired = `SELECT id FROM marks WHERE id >= ${FIRST_ID} AND id < ? * ${IDS_PER_MS} ORDER BY id LIMIT ?`
    this.#firstExpired = this.db.prepare(expired)
    this.#deleteExpired = this.db.prepare(`DELETE FROM marks WHERE id IN (${expired})`)
    this.#note = this.db.prepare(
      `INSERT INTO places (log, topic, partition, epoch, last, until, epoch_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       ON CONFLICT DO UPDATE SET last = max(last, ?5), until = max(until, ?6) RETURNING id`,
    )
  }

  readonly operations = {
    /** When keys expire; undefined: unknown. */
    untilOf: (keys: readonly string[]): (number | undefined)[] =>
      keys.map((key) => this.#find.get(key)?.until),

    /** Commits keys; as `transact`. */
    write: (keys: readonly PlacedKey[], places: readonly KeyPlace[]): void => {
      this.transact(() => {
        const largest = places.map(() => ({ last: 0, until: 0 }))
        for (const [, untilMs, at, offset] of keys) {
          const of = largest[at]
          if (of === undefined) continue
          of.last = Math.max(of.last, offset)
          of.until = Math.max(of.until, untilMs)
        }
        const ids = places.map(({ log, topic, partition, epoch, epochId }, at) => {
          const { last, until } = largest[at]!
          return this.#note.get(log, topic, partition, epoch, last, until, epochId)!.id
        })
        for (const [key, untilMs, at, offset] of keys)
          this.#insert.run(key, untilMs, at < 0 ? null : ids[at]!, at < 0 ? null : offset)
      })
      this.gathered(keys.length * BYTES_PER_KEY)
    },

    /** The places of keys that have not expired. */
    places: (): readonly KnownPlace[] =>
      this.db
        .query<KnownPlace, [number]>(
          "SELECT id, log, topic, partition, epoch, epoch_id AS epochId, last, gaps FROM places WHERE until >= ?",
        )
        .all(this.clock.now()),

    /** Deletes keys without a record. @returns how many */
    drop: ({ lost, gaps }: LostKeys): number => {
      let dropped = 0
      this.transact(() => {
        for (const { place, first, end } of lost) {
          dropped += this.db
            .query("DELETE FROM marks WHERE place = ? AND offset >= ? AND offset < ?")
            .run(place, first, end).changes
          this.db
            .query("UPDATE places SET last = ?2 - 1 WHERE id = ?1 AND last >= ?2 AND last < ?3")
            .run(place, first, end)
        }
        this.db.query("UPDATE places SET gaps = ?").run(gaps)
      })
      this.gathered(dropped * BYTES_PER_KEY)
      return dropped
    },

    /** Deletes a slice of the expired keys. @returns whether there may be more */
    trim: (): boolean => {
      const nowMs = this.clock.now()
      const old = this.#numbered(SLICE_KEYS)
      const expired = this.#firstExpired.all(nowMs, 1)
      if (old.length === 0 && expired.length === 0 && !this.clock.isDue) return false
      let deleted = 0
      this.transact(() => {
        for (const { id, until } of old) this.#renumber(id, until, nowMs)
        deleted = this.#deleteExpired.run(nowMs, SLICE_KEYS).changes
        this.db.query("DELETE FROM places WHERE until < ?").run(nowMs)
      })
      this.gathered((deleted + old.length) * BYTES_PER_KEY)
      return deleted === SLICE_KEYS || old.length === SLICE_KEYS
    },
  }

  /** A reading of the clock. */
  override state(): ClockReading {
    return this.clock.reading
  }

  /** Saves the clock with whatever is committed. */
  protected override transact(change: () => void): void {
    super.transact(() => {
      change()
      this.clock.save()
    })
  }

  /** The first keys of earlier versions. */
  #numbered(limit: number): { id: number; until: number }[] {
    return this.db
      .query<{ id: number; until: number }, [number]>(
        `SELECT id, until FROM marks WHERE id < ${FIRST_ID} ORDER BY id LIMIT ?`,
      )
      .all(limit)
  }

  /** Puts a key of an earlier version where it expires, or deletes it if it has. */
  #renumber(id: number, untilMs: number, nowMs: number): void {
    if (untilMs < nowMs) this.db.query("DELETE FROM marks WHERE id = ?").run(id)
    else this.db.query(`UPDATE marks SET id = ${nextId("marks.until")} WHERE id = ?`).run(id)
  }
}

/** The next id of those that expire at a time. */
const nextId = (until: string): string =>
  `coalesce(
     (SELECT at.id + 1 FROM marks AS at WHERE at.id >= ${until} * ${IDS_PER_MS} AND at.id < (${until} + 1) * ${IDS_PER_MS}
      ORDER BY at.id DESC LIMIT 1),
     ${until} * ${IDS_PER_MS})`

function createKeyTables(db: Database): void {
  db.run(
    `CREATE TABLE IF NOT EXISTS marks (
      id INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      until INTEGER NOT NULL,
      place INTEGER,
      offset INTEGER
    ) STRICT`,
  )
  const hasPlaces = db.query("SELECT 1 FROM pragma_table_info('marks') WHERE name = 'place'").get() !== null
  // of an earlier version
  if (!hasPlaces)
    for (const column of ["place", "offset"]) db.run(`ALTER TABLE marks ADD COLUMN ${column} INTEGER`)
  db.run(
    `CREATE TABLE IF NOT EXISTS places (
      id INTEGER PRIMARY KEY,
      log TEXT NOT NULL,
      topic TEXT NOT NULL,
      partition INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      last INTEGER NOT NULL,
      until INTEGER NOT NULL,
      gaps INTEGER NOT NULL DEFAULT 0,
      epoch_id INTEGER NOT NULL DEFAULT 0,
      UNIQUE (log, topic, partition, epoch, epoch_id)
    ) STRICT`,
  )
  const hasIds = db.query("SELECT 1 FROM pragma_table_info('places') WHERE name = 'epoch_id'").get() !== null
  if (!hasIds) db.run("ALTER TABLE places ADD COLUMN epoch_id INTEGER NOT NULL DEFAULT 0")
}
