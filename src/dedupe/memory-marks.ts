import type { Logger } from "../telemetry/log.ts"
import type { MarkStore } from "./mark-store.ts"
import { RecentIds } from "./recent-ids.ts"

/** Marks that are kept at most, in about 60 MB. */
const MOST_MARKS = 200_000
const WARN_EVERY_MS = 60_000

/**
 * Keeps marks in the memory of this process: gone with it.
 *
 * @param deps `now` is in milliseconds since 1970, `most` bounds the marks: beyond it the oldest are forgotten early
 */
export function openMemoryMarks({
  log,
  now = Date.now,
  most = MOST_MARKS,
}: {
  log: Logger
  now?: () => number
  most?: number
}): MarkStore {
  const marks = new RecentIds({ most, now })
  let warnedMs = Number.NEGATIVE_INFINITY
  return {
    claim: (key) => (marks.has(key) ? "duplicate" : "first"),
    mark(key, untilMs) {
      if (marks.remember(key, untilMs) && now() - warnedMs >= WARN_EVERY_MS) {
        warnedMs = now()
        log.warn(
          { most },
          "the memory of published events is full: the oldest are forgotten before their window",
        )
      }
      return true
    },
    release() {},
    ready: () => true,
    close: () => Promise.resolve(),
  }
}
