import type { Logger } from "../telemetry/log.ts"
import type { MarkStore } from "./mark-store.ts"
import { openRecentIds, type Peers } from "./shared-ids.ts"

/** Marks that are kept at most, in about 60 MB. */
const MOST_MARKS = 200_000
const WARN_EVERY_MS = 60_000

/**
 * Keeps marks in the memory of this process: gone with it. With `shared` the processes that share the load tell each other
 * of their marks, soon and without an answer: of two events of a key at one moment in two processes both may be the first.
 *
 * @param deps `now` is in milliseconds since 1970, `most` bounds the marks: beyond it the oldest are forgotten early, which
 *   is logged unless `forgets` is true, as for marks that do no harm any more
 */
export function openMemoryMarks({
  log,
  now = Date.now,
  most = MOST_MARKS,
  shared,
  forgets = false,
}: {
  log: Logger
  now?: () => number
  most?: number
  shared?: { peers: Peers; name: string } | undefined
  forgets?: boolean
}): MarkStore {
  const marks = openRecentIds({ most, now }, shared)
  let warnedMs = Number.NEGATIVE_INFINITY
  return {
    claim: (key) => (marks.has(key) ? "duplicate" : "first"),
    mark(key, untilMs) {
      const isFull = marks.remember(key, untilMs)
      if (isFull && !forgets && now() - warnedMs >= WARN_EVERY_MS) {
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
    close() {
      marks.close()
      return Promise.resolve()
    },
  }
}
