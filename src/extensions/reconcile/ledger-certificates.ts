import type { Database } from "bun:sqlite"
import { HOUR_MS, type Certificate } from "./certificate.ts"

/** Ids in a certificate. */
const MOST_IDS = 1000

/** One whose hour had events taken back: it is no longer shown, and the hour is certified again. */
interface KeptCertificate extends Certificate {
  readonly isVoid?: true
}

/** The certificates of a ledger, and what its events count for. */
export class LedgerCertificates {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** @param mostAttempts 0: nothing can be asked for */
  count(fromMs: number, toMs: number, mostAttempts: number): Certificate {
    const within = "at >= ?1 AND at < ?2"
    const all = <T>(sql: string): T[] =>
      this.#db.query<T, [number, number]>(sql.replace("EVENTS", `events WHERE ${within}`)).all(fromMs, toMs)
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
  }

  /**
   * Certificates of the hours that end before a time and have nothing left to ask for: new ones, and changed ones of hours
   * that had pending events, had events taken back, or begin at `againFromMs` or later.
   */
  due(sinceMs: number, againFromMs: number, toMs: number, mostAttempts: number): Certificate[] {
    const changed: Certificate[] = []
    const find = this.#db.query<{ json: string }, [number]>("SELECT json FROM certificates WHERE hour = ?")
    for (let hour = Math.ceil(sinceMs / HOUR_MS) * HOUR_MS; hour + HOUR_MS <= toMs; hour += HOUR_MS) {
      const row = find.get(hour)
      const before = row === null ? undefined : (JSON.parse(row.json) as KeptCertificate)
      if (before?.pending === 0 && before.isVoid !== true && hour < againFromMs) continue
      const now = this.count(hour, hour + HOUR_MS, mostAttempts)
      if (now.open > 0 || Bun.deepEquals(before, { ...now, revision: before?.revision })) continue
      changed.push({ ...now, revision: (before?.revision ?? 0) + 1 })
    }
    return changed
  }

  /** Within a transaction. */
  put(certificate: Certificate): void {
    this.#db
      .query("INSERT OR REPLACE INTO certificates VALUES (?, ?)")
      .run(Date.parse(certificate.from), JSON.stringify(certificate))
  }

  /** Takes back those of hours that end after a time, within a transaction. */
  takeBack(fromMs: number): void {
    this.#db
      .query(
        `UPDATE certificates SET json = json_set(json, '$.isVoid', json('true')) WHERE hour > ? - ${HOUR_MS}`,
      )
      .run(fromMs)
  }

  /** The newest first. */
  newest(limit: number): Certificate[] {
    return this.#db
      .query<{ json: string }, [number]>(
        "SELECT json FROM certificates WHERE json ->> 'isVoid' IS NULL ORDER BY hour DESC LIMIT ?",
      )
      .all(limit)
      .map(({ json }) => JSON.parse(json) as Certificate)
  }
}
