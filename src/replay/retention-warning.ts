import type { LogReader, OffsetRange } from "../brokers/broker.ts"
import { pause, whenAborted } from "../clock/clock.ts"
import type { HooklineError } from "../errors.ts"
import type { ReplayPosition } from "./progress.ts"
import { untilAvailable } from "./until-available.ts"

/** What a forward has left to send, as it is when it is asked. */
export interface WaitingRecords {
  readonly topic: string
  /** What the topic holds. */
  readonly held: () => readonly OffsetRange[]
  readonly next: () => ReplayPosition["next"]
  readonly lag: () => number
}

/**
 * The share of the retention after which a waiting record is warned of. It is checked soon after the start, then each minute, or
 * 20 times within a shorter retention.
 */
const WARNED = { part: 0.8, firstMs: 1000, leastMs: 100, everyMs: 60_000 }

/**
 * Warns of records that retention is about to delete, until the signal aborts.
 *
 * @param read opens the log for one question
 * @throws HooklineError other than `unavailable`
 */
export async function warnOfRetention(
  { topic, held, next, lag }: WaitingRecords,
  read: <T>(ask: (reader: LogReader) => Promise<T>) => Promise<T>,
  warn: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const waiting = { signal, mayPass: ({ retryHelps }: HooklineError) => retryHelps }
  let everyMs = WARNED.firstMs
  for (;;) {
    await pause(everyMs, signal)
    if (signal.aborted) return
    if (lag() === 0) continue
    const kept = await untilAvailable(() => read(async (it) => it.retention?.(topic)), waiting)
    // it keeps all; the watch must not end before the forward does
    if (kept === undefined) return whenAborted(signal)
    everyMs = Math.min(WARNED.everyMs, Math.max(WARNED.leastMs, kept.ms / 20))
    const sinceMs = Number.isFinite(kept.ms) ? Date.now() - kept.ms * WARNED.part : undefined
    const young = await untilAvailable(() => read((it) => it.ranges(topic, { sinceMs })), waiting)
    const places = (young ?? []).flatMap(({ partition, first, end }) => {
      const at = next().get(partition) ?? first
      const all = held().find((it) => it.partition === partition)
      // the bytes after the position are estimated from the number of records
      const share = all === undefined ? 0 : (end - at) / Math.max(1, end - all.first)
      const isLarge = share * (kept.held.get(partition) ?? 0) > kept.bytes * WARNED.part
      return at < first || isLarge ? [`${topic}[${partition}]@${at}`] : []
    })
    if (places.length > 0)
      warn(`retention will soon delete waiting records, starting at ${places.join(", ")}`)
  }
}
