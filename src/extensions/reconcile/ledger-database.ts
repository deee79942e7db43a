import { join } from "node:path"
import { DatabaseCalls } from "../../storage/database-calls.ts"
import type { DatabaseLocation } from "../../storage/database-file.ts"
import { DurableDatabase } from "../../storage/durable-database.ts"
import type { Logger } from "../../telemetry/log.ts"
import { HOUR_MS, type Certificate } from "./certificate.ts"
import { LedgerCertificates } from "./ledger-certificates.ts"
import {
  createMarks,
  LedgerMarks,
  type DoubtfulTime,
  type MarkedPlace,
  type SetBack,
} from "./ledger-marks.ts"
import { putListed, takeBack } from "./ledger-events.ts"
import { readPage } from "./listing.ts"
import { LISTINGS } from "./listings.ts"

/*
 * What a sender lists, and what became of it, in a file of its own, `reconcile-<id>.sqlite`, in WAL mode with
 * synchronous=FULL. Pages of the sender's list are read in its thread, so that a large one holds up no event loop.
 *
 *   about         JSON: where the list was read to, see Progress
 *   events        id | at, last: when it was first sent, and last sent or asked for, by the sender's clock | delivery: what redelivers it
 *                 | outcome: accepted, duplicate, dropped, refused 401; null: not known to have ended here for good
 *                 | missed: 1 once the sender listed a failure, or no outcome was found | pending: 1 while the sender tries
 *                 | attempts: how often it was asked for again, or published | asked: the last round in which it was
 *                 | body: the event, as long as it may have to be published | mark: see ledger-marks.ts, as are the tables marks and places
 *   certificates  hour: its beginning, in milliseconds since 1970 | json: see Certificate
 *
 * An event's outcome, once known, stays: lists name deliveries twice, late, and in any order. It is taken back if the log no
 * longer has what it had when the outcome was found: another log, an earlier copy or a rescued one is in its place. What the
 * sender lists as delivered until then proves nothing either.
 */
const PAGE_BYTES = 4096

/** Its beginning by the sender's clock, from when it lists, and its next page. */
interface Pass {
  readonly startedMs: number
  readonly fromMs: number
  readonly next: string
}

/** Where a list was read to. */
export interface Progress {
  /** Certificates cover hours from then on, by the sender's clock, in milliseconds since 1970. */
  readonly sinceMs: number
  /** When the last pass that read the whole list began, or before that, from when the first one lists; by the sender's clock. 0: none began. */
  readonly completeMs: number
  /** The pass that is not finished. */
  readonly pass?: Pass | undefined
  /** The endpoint when it was last looked at: its URL and events. */
  readonly endpoint?: string
  /** Deliveries of these times may be gone from the log. */
  readonly doubtful?: readonly DoubtfulTime[]
  /** The number of the log's gaps that were compared with the events. */
  readonly gaps?: number
}

export interface MissingEvent {
  readonly id: string
  readonly delivery: string
  readonly body: string | null
  readonly attempts: number
}

/** Certificates are kept this long, and events that no certificate covers yet. */
export const KEPT_MS = 31 * 24 * HOUR_MS
/** After this many attempts an event is reported as unrecoverable. */
export const MOST_ATTEMPTS = 3
export function ledgerIn(directory: string, id: string): DatabaseLocation {
  const path = join(directory, `reconcile-${id}`)
  return {
    file: `${path}.sqlite`,
    lockFile: `${path}.lock`,
    applicationId: 0x484b4c44, // HKLD
    kind: "ledger",
    title: `The ledger of [reconcile:${id}] in ${directory}`,
    alternative: "another directory; replicas of one service share a Deduplicator with store = redis://...",
    remedy: "move it away: the sender's list is read again from `window` on",
  }
}

export class LedgerDatabase extends DurableDatabase {
  readonly #certificates: LedgerCertificates
  readonly #marks: LedgerMarks

  constructor(location: DatabaseLocation) {
    super(location, {
      pageBytes: PAGE_BYTES,
      createTables(db) {
        db.run("CREATE TABLE IF NOT EXISTS about (id INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT")
        db.run(
          `CREATE TABLE IF NOT EXISTS events (
            id TEXT PRIMARY KEY, at INTEGER NOT NULL, last INTEGER NOT NULL, delivery TEXT NOT NULL, outcome TEXT,
            missed INTEGER NOT NULL, pending INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
            asked INTEGER NOT NULL DEFAULT 0, body TEXT
          ) STRICT`,
        )
        db.run("CREATE INDEX IF NOT EXISTS events_at ON events (at)")
        db.run(
          "CREATE TABLE IF NOT EXISTS certificates (hour INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT",
        )
        createMarks(db)
      },
    })
    this.#certificates = new LedgerCertificates(this.db)
    this.#marks = new LedgerMarks(this.db)
  }

  readonly operations = {
    progress: (): Progress => {
      const row = this.db.query<{ json: string }, []>("SELECT json FROM about").get()
      return row === null ? { sinceMs: 0, completeMs: 0 } : (JSON.parse(row.json) as Progress)
    },

    save: (changed: Partial<Progress>): void => this.transact(() => this.#save(changed)),

    /**
     * Reads a page of the sender's list, in one transaction with where it is continued.
     *
     * @param pass its `next` is replaced
     * @returns text: what is wrong with the page; nothing of it is kept
     */
    page: (
      provider: string,
      { bytes, link }: { readonly bytes: Uint8Array; readonly link: string | null },
      { startedMs, fromMs, next: current }: Pass,
    ): { readonly next: string | undefined } | string => {
      const listing = LISTINGS[provider]!
      const page = readPage(listing, bytes, link, startedMs)
      if (typeof page === "string") return page
      const isEnd = listing.list.isNewestFirst === true && page.items.some(({ atMs }) => atMs < fromMs)
      const next = isEnd ? undefined : page.next
      if (next !== undefined && next === current)
        return "its list does not continue: a page names itself as the next"
      this.transact(() => {
        putListed(this.db, listing, page.items, {
          fromMs,
          doubtful: this.operations.progress().doubtful ?? [],
          mark: this.#marks.newest,
        })
        if (next !== undefined) this.#save({ pass: { startedMs, fromMs, next } })
      })
      return { next }
    },

    /** Sets outcomes by lines of an index, `outcome<tab>id`. */
    found: (lines: string): void => {
      const set = this.db.query(
        // an event that was refused first may have been accepted then
        `UPDATE events SET mark = ?3, outcome = ?2, body = NULL
         WHERE id = ?1 AND (outcome IS NULL OR ?2 = 'accepted' AND outcome <> ?2)`,
      )
      const { newest } = this.#marks
      this.transact(() => {
        for (const line of lines.split("\n").slice(0, -1)) {
          const [outcome, id] = line.split("\t") as [string, string]
          set.run(id, outcome, newest)
        }
      })
    },

    /** Begins a round of asking for events. */
    round: (): number =>
      this.db.query<{ n: number }, []>("SELECT coalesce(max(asked), 0) + 1 AS n FROM events").get()!.n,

    /** Events to ask for in a round that were sent before a time. They count as missed from now on. */
    missing: (beforeMs: number, round: number, limit: number): MissingEvent[] => {
      const rows = this.db
        .query<MissingEvent, [number, number, number, number]>(
          // an event that fails each time does not delay the others
          `SELECT id, delivery, body, attempts FROM events
           WHERE outcome IS NULL AND pending = 0 AND attempts < ?1 AND at < ?2 AND asked < ?3 ORDER BY asked, at, id LIMIT ?4`,
        )
        .all(MOST_ATTEMPTS, beforeMs, round, limit)
      const miss = this.db.query("UPDATE events SET missed = 1 WHERE id = ?")
      if (rows.length > 0) this.transact(() => rows.forEach(({ id }) => miss.run(id)))
      return rows
    },

    /** When the oldest event was sent that can be asked for, or that the sender still tries to deliver; undefined: there is none. */
    oldestOpen: (mostAttempts: number): number | undefined =>
      this.db
        .query<{ at: number | null }, [number]>(
          "SELECT min(at) AS at FROM events WHERE outcome IS NULL AND (pending = 1 OR attempts < ?)",
        )
        .get(mostAttempts)!.at ?? undefined,

    attempt: (id: string, round: number, attempts: number, nowMs: number): void => {
      const count = this.db.query(
        "UPDATE events SET attempts = ?3, asked = ?2, last = max(last, ?4) WHERE id = ?1",
      )
      this.transact(() => count.run(id, round, attempts, nowMs))
    },

    settle: (id: string, outcome: string): void => {
      const set = this.db.query(
        "UPDATE events SET mark = iif(outcome IS NULL, ?3, mark), outcome = coalesce(outcome, ?2) WHERE id = ?1",
      )
      this.transact(() => set.run(id, outcome, this.#marks.newest))
    },

    /** How many of those asked for in a round have no outcome yet. */
    waiting: (round: number): number =>
      this.db
        .query<{ n: number }, [number]>(
          "SELECT count(*) AS n FROM events WHERE outcome IS NULL AND asked >= ?",
        )
        .get(round)!.n,

    count: (...of: Parameters<LedgerCertificates["count"]>) => this.#certificates.count(...of),
    due: (...of: Parameters<LedgerCertificates["due"]>) => this.#certificates.due(...of),
    certify: (certificate: Certificate): void => this.transact(() => this.#certificates.put(certificate)),
    certificates: (limit: number) => this.#certificates.newest(limit),

    places: (isNewest: boolean) => this.#marks.places(isNewest),
    newestMark: () => this.#marks.newest,
    timeOfMark: (mark: number) => this.#marks.timeOf(mark),
    /** Notes how far the log is. */
    mark: (atMs: number, places: readonly Omit<MarkedPlace, "mark">[], gaps: number): void =>
      this.transact(() => {
        this.#marks.put(atMs, places)
        if (this.operations.progress().gaps !== gaps) this.#save({ gaps })
      }),
    setBack: (to: SetBack): number => this.#setBack(to),

    /**
     * Deletes certificates of hours before a time, and events that were last sent before it, or before another time if their
     * hour is certified with none pending. By `last`, so that a redelivery that is still listed is not a new event.
     */
    trim: (certificatesBeforeMs: number, eventsBeforeMs: number): void => {
      this.transact(() => {
        this.db
          .query(
            `DELETE FROM events WHERE last < ?1 OR last < ?2 AND at - at % ${HOUR_MS} IN
               (SELECT hour FROM certificates WHERE json ->> 'pending' = 0 AND json ->> 'isVoid' IS NULL)`,
          )
          .run(certificatesBeforeMs, eventsBeforeMs)
        this.db.query("DELETE FROM certificates WHERE hour < ?").run(certificatesBeforeMs)
        this.#marks.trim(certificatesBeforeMs)
      })
    },
  }

  /** Takes back outcomes of events whose records may be gone, and the certificates of their hours. @returns how many events */
  #setBack({ doubts, badMark, nowMs, windowMs, latencyMs }: SetBack): number {
    let count = 0
    this.transact(() => {
      const before = this.operations.progress()
      const doubtful = doubts.map(({ mark, untilMs }) => ({
        fromMs: (this.#marks.timeOf(mark) ?? 0) - latencyMs,
        untilMs,
      }))
      const taken = doubts.map((doubt) => takeBack(this.db, doubt))
      count = taken.reduce((sum, { events }) => sum + events, 0)
      const times = [...doubtful.map((it) => it.fromMs), ...taken.map((it) => it.oldestMs)]
      this.#certificates.takeBack(Math.min(...times))
      if (badMark !== undefined) this.#marks.deleteFrom(badMark)
      const kept = before.doubtful?.filter((it) => it.untilMs > nowMs - KEPT_MS) ?? []
      // of earlier hours not all events are known any more
      const sinceMs = Math.max(before.sinceMs, nowMs - windowMs)
      // a page that was read before proves nothing
      this.#save({ doubtful: [...kept, ...doubtful], sinceMs, pass: undefined })
    })
    return count
  }

  #save(changed: Partial<Progress>): void {
    const json = JSON.stringify({ ...this.operations.progress(), ...changed })
    this.db.query("INSERT OR REPLACE INTO about VALUES (1, ?)").run(json)
  }
}

/** The ledger of a reconcile, in its thread. */
export class Ledger extends DatabaseCalls<LedgerDatabase> {
  /** @throws HooklineError `log_locked`, `log_io` */
  constructor(location: DatabaseLocation, log: Logger) {
    super(location, () => new LedgerDatabase(location), log)
  }
}
