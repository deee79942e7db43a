import { rarely } from "../clock/lasting.ts"
import type { Logger } from "../telemetry/log.ts"
import type { KeyStore } from "./key-store.ts"
import { RecentIds } from "./recent-ids.ts"

/** In about 60 MB. */
const MOST_KEYS = 200_000
const WARN_EVERY_MS = 60_000

/**
 * Keeps keys in memory.
 *
 * @param deps `now` is in milliseconds since 1970. Beyond `most` keys the oldest are forgotten before they expire, which is
 *   logged unless `forgets` is true: for keys whose repetition does no harm
 */
export function openMemoryKeys({
  log,
  now = Date.now,
  most = MOST_KEYS,
  forgets = false,
}: {
  log: Logger
  now?: () => number
  most?: number
  forgets?: boolean
}): KeyStore {
  const ids = new RecentIds({ most, now })
  const warnFull = rarely(WARN_EVERY_MS, () =>
    log.warn(
      { most },
      "the memory of published events is full: the oldest are forgotten before their window",
    ),
  )
  return {
    claim: (key) => (ids.has(key) ? "duplicate" : "first"),
    add(key, untilMs) {
      const isFull = ids.remember(key, untilMs)
      if (isFull && !forgets) warnFull()
      return true
    },
    release() {},
    ready: () => true,
    close: () => Promise.resolve(),
  }
}
