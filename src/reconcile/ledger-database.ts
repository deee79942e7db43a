import { join } from "node:path"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { DurableDatabase } from "../storage/durable-database.ts"
import type { Certificate } from "./certificate.ts"
import { readPage } from "./listing.ts"
import { LISTINGS } from "./listings.ts"

/*
 * What a sender lists, and what became of it, in a file of its own, `reconcile-<id>.sqlite`, in WAL mode with
 * synchronous=FULL. Pages of the sender's list are read in its thread, so that a large one holds up no event loop.
 *
 *   about         JSON: where the list was read to, see Progress
 *   events        id | at: when it was first sent, by the sender's clock | delivery: what redelivers it
 *                 | outcome: accepted, duplicate, dropped, refused 401; null: not known to have ended here for good
 *                 | missed: 1 once the sender listed a failure, or no outcome was found | pending: 1 while the sender tries
 *                 | attempts: how often it was asked for again, or published | asked: when, in milliseconds since 1970
 *                 | reason: why the last attempt failed | body: the event, as long as it may have to be published
 *   certificates  hour: its beginning, in milliseconds since 1970 | json: see Certificate
 *
 * An event's outcome, once known, stays: lists name deliveries twice, late, and in any order.
 */
const PAGE_BYTES = 4096

/** Where a list was read to. */
export interface Progress {
  /** Certificates cover hours from then on, by the sender's clock, in milliseconds since 1970. */
  readonly sinceMs: number
  /** The beginning of the last pass that read the whole list, by the sender's clock; 0: none has. */
  readonly completeMs: number
  /** A pass that was not finished: its beginning by the sender's clock, from when it lists, and its next page. */
  readonly pass?: { readonly startedMs: number; readonly fromMs: number; readonly next: string } | undefined
  /** The endpoint when it was last looked at: its URL and events. */
  readonly endpoint?: string | undefined
}

export interface MissingEvent {
  readonly id: string
  readonly delivery: string
  readonly body: string | null
}

/** After so many an event is reported, not asked for again. */
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
    alternative: "another directory",
    remedy: "move it away: the sender's list is read again from `window` on",
  }
}

export class LedgerDatabase extends DurableDatabase {
  /** Ids without an outcome, while an index is searched for them. */
  #sought = new Set<string>()

  readonly operations = {
    progress: this.progress.bind(this),
    save: (progress: Progress) => this.transact(() => this.#save(progress)),
    page: this.page.bind(this),
    seek: this.seek.bind(this),
    found: this.found.bind(this),
    missing: this.missing.bind(this),
    attempt: this.attempt.bind(this),
    settle: this.settle.bind(this),
    waiting: this.waiting.bind(this),
    count: this.count.bind(this),
    due: this.due.bind(this),
    certify: this.certify.bind(this),
    certificates: this.certificates.bind(this),
    trim: this.trim.bind(this),
  }

  constructor(location: DatabaseLocation) {
    super(location, {
      pageBytes: PAGE_BYTES,
      createTables(db) {
        db.run("CREATE TABLE IF NOT EXISTS about (id INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT")
        db.run(
          `CREATE TABLE IF NOT EXISTS events (
            id TEXT PRIMARY KEY, at INTEGER NOT NULL, delivery TEXT NOT NULL, outcome TEXT,
            missed INTEGER NOT NULL, pending INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
            asked INTEGER NOT NULL DEFAULT 0, reason TEXT, body TEXT
          ) STRICT`,
        )
        db.run("CREATE INDEX IF NOT EXISTS events_at ON events (at)")
        db.run(
          "CREATE TABLE IF NOT EXISTS certificates (hour INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT",
        )
      },
    })
  }

  progress(): Progress | undefined {
    const row = this.db.query<{ json: string }, []>("SELECT json FROM about").get()
    return row === null ? undefined : (JSON.parse(row.json) as Progress)
  }

  /**
   * Reads a page of the sender's list, in one transaction with where it is continued.
   *
   * @param progress with a `pass`, whose `next` is replaced
   * @returns text: what is wrong with the page, of which nothing is kept then
   */
  page(
    provider: string,
    { bytes, link }: { readonly bytes: Uint8Array; readonly link: string | null },
    progress: Progress,
  ): { readonly next: string | undefined; readonly items: number } | string {
    const listing = LISTINGS[provider]!
    const page = readPage(listing, bytes, link, progress.pass!.startedMs)
    if (typeof page === "string") return page
    const { startedMs, fromMs, next: current } = progress.pass!
    const isEnd = listing.list.isNewestFirst === true && page.items.some(({ atMs }) => atMs < fromMs)
    const next = isEnd ? undefined : page.next
    if (next !== undefined && next === current)
      return "its list does not continue: a page names itself as the next"
    const put = this.db.query(
      `INSERT INTO events (id, at, delivery, outcome, missed, pending, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       ON CONFLICT (id) DO UPDATE SET
         delivery = iif(?2 < at, ?3, delivery), at = min(at, ?2), outcome = coalesce(outcome, ?4),
         missed = max(missed, ?5), pending = ?6, body = iif(outcome IS NULL, coalesce(?7, body), NULL)`,
    )
    this.transact(() => {
      for (const { event, delivery, atMs, got, body } of page.items) {
        if (atMs < fromMs) continue
        const outcome = got === undefined || got === "failed" || got === "pending" ? null : got
        put.run(
          event,
          atMs,
          delivery,
          outcome,
          Number(got === "failed"),
          Number(got === "pending"),
          body ?? null,
        )
      }
      const pass = next === undefined ? undefined : { startedMs, fromMs, next }
      this.#save({ ...progress, pass })
    })
    return { next, items: page.items.length }
  }

  /** Begins the search of an index. @returns when the oldest event without an outcome was sent; undefined: all have one */
  seek(): number | undefined {
    const rows = this.db
      .query<{ id: string; at: number }, []>("SELECT id, at FROM events WHERE outcome IS NULL")
      .all()
    this.#sought = new Set(rows.map(({ id }) => id))
    return rows.length === 0 ? undefined : Math.min(...rows.map(({ at }) => at))
  }

  /** Takes outcomes from lines of an index, `outcome<tab>id`. */
  found(lines: string): void {
    const found = new Map<string, string>()
    for (const line of lines.split("\n")) {
      const [outcome = "", id = ""] = line.split("\t")
      // an event that was refused first may have been accepted then
      if (this.#sought.has(id) && (outcome === "accepted" || !found.has(id))) found.set(id, outcome)
    }
    if (found.size === 0) return
    const set = this.db.query("UPDATE events SET outcome = ?2, body = NULL WHERE id = ?1 AND outcome IS NULL")
    this.transact(() => {
      for (const [id, outcome] of found) set.run(id, outcome)
    })
    for (const id of found.keys()) this.#sought.delete(id)
  }

  /** The oldest events to ask for: sent before a time, and not asked for since another. They count as missed from now on. */
  missing(beforeMs: number, askedBeforeMs: number, limit: number): MissingEvent[] {
    const rows = this.db
      .query<MissingEvent, [number, number, number, number]>(
        `SELECT id, delivery, body FROM events
         WHERE outcome IS NULL AND pending = 0 AND at < ?1 AND asked < ?2 AND attempts < ?3 ORDER BY at, id LIMIT ?4`,
      )
      .all(beforeMs, askedBeforeMs, MOST_ATTEMPTS, limit)
    const miss = this.db.query("UPDATE events SET missed = 1 WHERE id = ?")
    if (rows.length > 0) this.transact(() => rows.forEach(({ id }) => miss.run(id)))
    return rows
  }

  /** Counts an attempt: before it is made, so that a crash makes no further one. */
  attempt(id: string, nowMs: number): void {
    const count = this.db.query("UPDATE events SET attempts = attempts + 1, asked = ?2 WHERE id = ?1")
    this.transact(() => count.run(id, nowMs))
  }

  settle(id: string, outcome: string | null, reason: string | null): void {
    this.transact(() =>
      this.db
        .query("UPDATE events SET outcome = coalesce(outcome, ?2), reason = ?3 WHERE id = ?1")
        .run(id, outcome, reason),
    )
  }

  /** How many of those asked for since a time have no outcome yet. */
  waiting(askedSinceMs: number): number {
    return this.#number(
      "SELECT count(*) AS n FROM events WHERE outcome IS NULL AND asked >= ?1",
      askedSinceMs,
    )
  }

  /** @param mostAttempts 0: nothing can be asked for */
  count(fromMs: number, toMs: number, mostAttempts: number): Certificate {
    const within = "at >= ?1 AND at < ?2"
    const accounted: { [outcome: string]: number } = {}
    const groups = this.db
      .query<{ outcome: string; n: number }, [number, number]>(
        `SELECT outcome, count(*) AS n FROM events WHERE ${within} AND outcome IS NOT NULL GROUP BY outcome ORDER BY outcome`,
      )
      .all(fromMs, toMs)
    for (const { outcome, n } of groups) accounted[outcome] = n
    const count = (where: string): number =>
      this.#number(`SELECT count(*) AS n FROM events WHERE ${within} AND ${where}`, fromMs, toMs)
    const ids = (where: string): string[] =>
      this.db
        .query<{ id: string }, [number, number]>(
          `SELECT id FROM events WHERE ${within} AND ${where} ORDER BY at, id LIMIT ${MOST_IDS}`,
        )
        .all(fromMs, toMs)
        .map(({ id }) => id)
    const recovered = "missed = 1 AND outcome IS NOT NULL"
    const lacking = "outcome IS NULL AND pending = 0"
    const unrecoverable = `${lacking} AND attempts >= ${mostAttempts}`
    return {
      fromMs,
      toMs,
      listed: count("true"),
      accounted,
      pending: count("outcome IS NULL AND pending = 1"),
      missing: count(`(missed = 1 OR ${lacking})`),
      recovered: count(recovered),
      open: count(`${lacking} AND attempts < ${mostAttempts}`),
      unrecoverable: count(unrecoverable),
      ids: { recovered: ids(recovered), unrecoverable: ids(unrecoverable) },
      revision: 1,
    }
  }

  /** Certificates of the hours of a time that have nothing left to ask for: those that are new, or not as before. */
  due(fromMs: number, toMs: number, mostAttempts: number): Certificate[] {
    const changed: Certificate[] = []
    for (let hour = Math.ceil(fromMs / HOUR_MS) * HOUR_MS; hour + HOUR_MS <= toMs; hour += HOUR_MS) {
      const now = this.count(hour, hour + HOUR_MS, mostAttempts)
      const row = this.db
        .query<{ json: string }, [number]>("SELECT json FROM certificates WHERE hour = ?")
        .get(hour)
      const before = row === null ? undefined : (JSON.parse(row.json) as Certificate)
      if (now.open > 0 || Bun.deepEquals(before, { ...now, revision: before?.revision })) continue
      changed.push({ ...now, revision: (before?.revision ?? 0) + 1 })
    }
    return changed
  }

  certify(certificate: Certificate): void {
    this.transact(() =>
      this.db
        .query("INSERT OR REPLACE INTO certificates VALUES (?, ?)")
        .run(certificate.fromMs, JSON.stringify(certificate)),
    )
  }

  /** The newest first. */
  certificates(limit: number): Certificate[] {
    return this.db
      .query<{ json: string }, [number]>("SELECT json FROM certificates ORDER BY hour DESC LIMIT ?")
      .all(limit)
      .map(({ json }) => JSON.parse(json) as Certificate)
  }

  trim(beforeMs: number): void {
    this.transact(() => {
      this.db.query("DELETE FROM events WHERE at < ?").run(beforeMs)
      this.db.query("DELETE FROM certificates WHERE hour < ?").run(beforeMs - 30 * 24 * HOUR_MS)
    })
  }

  #save(progress: Progress): void {
    this.db.query("INSERT OR REPLACE INTO about VALUES (1, ?)").run(JSON.stringify(progress))
  }

  #number(sql: string, ...values: number[]): number {
    return this.db.query<{ n: number }, number[]>(sql).get(...values)!.n
  }
}

const HOUR_MS = 3_600_000
