import { join } from "node:path"
import { DatabaseCalls } from "../storage/database-calls.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { DurableDatabase } from "../storage/durable-database.ts"
import type { Logger } from "../telemetry/log.ts"
import { HOUR_MS, type Certificate } from "./certificate.ts"
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
 *                 | body: the event, as long as it may have to be published
 *   certificates  hour: its beginning, in milliseconds since 1970 | json: see Certificate
 *
 * An event's outcome, once known, stays: lists name deliveries twice, late, and in any order.
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
}

export interface MissingEvent {
  readonly id: string
  readonly delivery: string
  readonly body: string | null
  readonly attempts: number
}

/** After this many attempts an event is reported as unrecoverable. */
export const MOST_ATTEMPTS = 3
/** Ids in a certificate. */
const MOST_IDS = 1000

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
      },
    })
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
      const put = this.db.query(
        `INSERT INTO events (id, at, last, delivery, outcome, missed, pending, body)
         VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (id) DO UPDATE SET
           delivery = iif(?2 < at, ?3, delivery), at = min(at, ?2), last = max(last, ?2), outcome = coalesce(outcome, ?4),
           missed = max(missed, ?5), pending = ?6, body = iif(outcome IS NULL, coalesce(?7, body), NULL)`,
      )
      this.transact(() => {
        for (const { event, delivery, atMs, got, body } of page.items) {
          if (atMs < fromMs) continue
          const outcome = got === undefined || got === "failed" || got === "pending" ? null : got
          const is = (state: string): number => Number(got === state)
          put.run(event, atMs, delivery, outcome, is("failed"), is("pending"), body ?? null)
        }
        if (next !== undefined) this.#save({ pass: { startedMs, fromMs, next } })
      })
      return { next }
    },

    /** Sets outcomes by lines of an index, `outcome<tab>id`. */
    found: (lines: string): void => {
      const set = this.db.query(
        // an event that was refused first may have been accepted then
        `UPDATE events SET outcome = ?2, body = NULL
         WHERE id = ?1 AND (outcome IS NULL OR ?2 = 'accepted' AND outcome <> ?2)`,
      )
      this.transact(() => {
        for (const line of lines.split("\n").slice(0, -1)) {
          const [outcome, id] = line.split("\t") as [string, string]
          set.run(id, outcome)
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
      const set = this.db.query("UPDATE events SET outcome = coalesce(outcome, ?2) WHERE id = ?1")
      this.transact(() => set.run(id, outcome))
    },

    /** How many of those asked for in a round have no outcome yet. */
    waiting: (round: number): number =>
      this.db
        .query<{ n: number }, [number]>(
          "SELECT count(*) AS n FROM events WHERE outcome IS NULL AND asked >= ?",
        )
        .get(round)!.n,

    /** @param mostAttempts 0: nothing can be asked for */
    count: (fromMs: number, toMs: number, mostAttempts: number): Certificate => {
      const within = "at >= ?1 AND at < ?2"
      const all = <T>(sql: string): T[] =>
        this.db.query<T, [number, number]>(sql.replace("EVENTS", `events WHERE ${within}`)).all(fromMs, toMs)
      const lacking = "outcome IS NULL AND pending = 0"
      const where = {
        pending: "outcome IS NULL AND pending = 1",
        missing: `missed = 1 OR ${lacking}`,
        recovered: "missed = 1 AND outcome IS NOT NULL",
        open: `${lacking} AND attempts < ${mostAttempts}`,
        unrecoverable: `${lacking} AND attempts >= ${mostAttempts}`,
      }
      const counts = Object.entries(where).map(([name, it]) => `count(*) FILTER (WHERE ${it}) AS ${name}`)
      type Counts = { readonly [name in "listed" | keyof typeof where]: number }
      const [sums] = all<Counts>(`SELECT count(*) AS listed, ${counts.join(", ")} FROM EVENTS`)
      const ended = all<{ outcome: string; n: number }>(
        "SELECT outcome, count(*) AS n FROM EVENTS AND outcome IS NOT NULL GROUP BY outcome ORDER BY outcome",
      )
      const ids = (name: keyof typeof where): string[] =>
        all<{ id: string }>(`SELECT id FROM EVENTS AND ${where[name]} ORDER BY at, id LIMIT ${MOST_IDS}`).map(
          ({ id }) => id,
        )
      return {
        from: new Date(fromMs).toISOString(),
        to: new Date(toMs).toISOString(),
        ...sums!,
        revision: 1,
        accounted: Object.fromEntries(ended.map(({ outcome, n }) => [outcome, n])),
        ids: { recovered: ids("recovered"), unrecoverable: ids("unrecoverable") },
      }
    },

    /**
     * Certificates of the hours that end before a time and have nothing left to ask for: new ones, and changed ones of hours
     * that had pending events or begin at `againFromMs` or later.
     */
    due: (sinceMs: number, againFromMs: number, toMs: number, mostAttempts: number): Certificate[] => {
      const changed: Certificate[] = []
      const find = this.db.query<{ json: string }, [number]>("SELECT json FROM certificates WHERE hour = ?")
      for (let hour = Math.ceil(sinceMs / HOUR_MS) * HOUR_MS; hour + HOUR_MS <= toMs; hour += HOUR_MS) {
        const row = find.get(hour)
        const before = row === null ? undefined : (JSON.parse(row.json) as Certificate)
        if (before?.pending === 0 && hour < againFromMs) continue
        const now = this.operations.count(hour, hour + HOUR_MS, mostAttempts)
        if (now.open > 0 || Bun.deepEquals(before, { ...now, revision: before?.revision })) continue
        changed.push({ ...now, revision: (before?.revision ?? 0) + 1 })
      }
      return changed
    },

    certify: (certificate: Certificate): void => {
      this.transact(() =>
        this.db
          .query("INSERT OR REPLACE INTO certificates VALUES (?, ?)")
          .run(Date.parse(certificate.from), JSON.stringify(certificate)),
      )
    },

    /** The newest first. */
    certificates: (limit: number): Certificate[] =>
      this.db
        .query<{ json: string }, [number]>("SELECT json FROM certificates ORDER BY hour DESC LIMIT ?")
        .all(limit)
        .map(({ json }) => JSON.parse(json) as Certificate),

    /**
     * Deletes certificates of hours before a time, and events that were last sent before it, or before another time if their
     * hour is certified with none pending. By `last`, so that a redelivery that is still listed is not a new event.
     */
    trim: (certificatesBeforeMs: number, eventsBeforeMs: number): void => {
      this.transact(() => {
        this.db
          .query(
            `DELETE FROM events WHERE last < ?1 OR last < ?2 AND at - at % ${HOUR_MS} IN
               (SELECT hour FROM certificates WHERE json ->> 'pending' = 0)`,
          )
          .run(certificatesBeforeMs, eventsBeforeMs)
        this.db.query("DELETE FROM certificates WHERE hour < ?").run(certificatesBeforeMs)
      })
    },
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
