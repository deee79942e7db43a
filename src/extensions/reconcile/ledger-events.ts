import type { Database } from "bun:sqlite"
import type { Doubt, DoubtfulTime } from "./ledger-marks.ts"
import type { Listed, Listing } from "./listing.ts"

/** Writes what a page of the sender's list has, from a time on, within a transaction. @param mark the newest one */
export function putListed(
  db: Database,
  { item, redeliver }: Listing,
  listed: readonly Listed[],
  {
    fromMs,
    doubtful,
    mark,
  }: { readonly fromMs: number; readonly doubtful: readonly DoubtfulTime[]; readonly mark: number },
): void {
  const put = db.query(
    `INSERT INTO events (id, at, last, delivery, outcome, missed, pending, body, mark)
     VALUES (?1, ?2, ?2, ?3, iif(?8, NULL, ?4), max(?5, ?8), ?6, ?7, ?11)
     ON CONFLICT (id) DO UPDATE SET
       mark = iif(outcome IS NULL, ?11, mark),
       delivery = iif(?2 < at, ?3, delivery), at = min(at, ?2), last = max(last, ?2),
       outcome = coalesce(outcome, iif(?9 AND (?10 OR attempts = 0), NULL, ?4)),
       missed = max(missed, ?5), pending = ?6, body = iif(outcome IS NULL, coalesce(?7, body), NULL)`,
  )
  const untilMs = Math.max(0, ...doubtful.map((it) => it.untilMs))
  // one that can't be delivered again is settled when it is published
  const isFinal = Number(item.isTimed === true || redeliver === undefined)
  for (const { event, delivery, atMs, got, body } of listed) {
    if (atMs < fromMs) continue
    const outcome = got === undefined || got === "failed" || got === "pending" ? null : got
    const is = (state: string): number => Number(got === state)
    const isDelivered = got === "accepted"
    const isDoubtful = isDelivered && doubtful.some((it) => atMs >= it.fromMs && atMs < it.untilMs)
    // of an event that was not known to have ended
    const isOld = isDelivered && atMs < untilMs
    const states = [is("failed"), is("pending"), body ?? null, Number(isDoubtful), Number(isOld)] as const
    put.run(event, atMs, delivery, outcome, ...states, isFinal, mark)
  }
}

/**
 * Takes back outcomes of events whose records may be gone, within a transaction.
 *
 * @returns how many; `oldestMs`: when the oldest was sent, Infinity without any
 */
export function takeBack(
  db: Database,
  { mark, untilMs }: Doubt,
): { readonly events: number; readonly oldestMs: number } {
  const those = "mark >= ? AND at < ? AND outcome IN ('accepted', 'duplicate')"
  const oldest = db
    .query<{ at: number | null }, [number, number]>(`SELECT min(at) AS at FROM events WHERE ${those}`)
    .get(mark, untilMs)!.at
  const { changes } = db
    .query(`UPDATE events SET outcome = NULL, missed = 1, attempts = 0, asked = 0, mark = 0 WHERE ${those}`)
    .run(mark, untilMs)
  return { events: changes, oldestMs: oldest ?? Number.POSITIVE_INFINITY }
}
