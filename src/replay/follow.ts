import type { LogReader, OffsetRange } from "../brokers/broker.ts"
import { pause } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import type { ReplayPosition } from "./progress.ts"

/** Records that were never sent, and will not be. */
export interface OffsetGap {
  readonly partition: number
  /** The topic's first offset, which comes next. */
  readonly first: number
  readonly next: number
  /** `deleted`: the log has kept less than what was not sent yet. `replaced`: it ends before the position: it is another one. */
  readonly kind: "deleted" | "replaced"
}

/**
 * Where sending continues in each partition of a topic, without an end. A partition that the position does not have was added
 * since, so that all of it is new.
 *
 * @param ranges what the topic holds
 */
export function endlessFrom(
  { next }: Pick<ReplayPosition, "next">,
  ranges: readonly OffsetRange[],
): { readonly ranges: OffsetRange[]; readonly gaps: OffsetGap[] } {
  const gaps: OffsetGap[] = []
  const endless = ranges.map(({ partition, first, end }): OffsetRange => {
    const at = next.get(partition) ?? first
    const kind = at < first ? "deleted" : at > end ? "replaced" : undefined
    if (kind !== undefined) gaps.push({ partition, first, next: at, kind })
    return { partition, first: kind === undefined ? at : first, end: Number.POSITIVE_INFINITY }
  })
  return { ranges: endless, gaps }
}

/** How soon an added partition is found. */
const LOOK_MS = 10_000

/**
 * Watches a topic for added partitions and for its id, until the signal aborts.
 *
 * @param open opens the log: a reader remembers the partitions that it has found
 * @param found `added` is called with those that are new, `held` each time with what the topic holds
 */
export async function watchPartitions(
  open: () => Promise<LogReader>,
  topic: string,
  known: readonly OffsetRange[],
  found: {
    readonly added: (ranges: readonly OffsetRange[]) => void
    readonly held: (ranges: readonly OffsetRange[]) => void
    /** Called each time with the topic's id; undefined: it has none. */
    readonly identified: (id: string | undefined) => void
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { signal } = found
  const partitions = new Set(known.map(({ partition }) => partition))
  while (!signal.aborted) {
    await pause(LOOK_MS, signal)
    if (signal.aborted) return
    try {
      await using opened = new AsyncDisposableStack()
      const reader = opened.adopt(await open(), (it) => it.close())
      const ranges = await reader.ranges(topic)
      found.held(ranges)
      found.identified(await reader.topicId?.(topic))
      const others = ranges.filter(({ partition }) => !partitions.has(partition))
      if (others.length === 0) continue
      for (const { partition } of others) partitions.add(partition)
      found.added(others.map((range) => ({ ...range, end: Number.POSITIVE_INFINITY })))
    } catch (error) {
      // whoever reads the topic says what is wrong
      if (!(error instanceof HooklineError) || !error.retryHelps) throw error
    }
  }
}
