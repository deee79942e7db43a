import { effect } from "@preact/signals"
import { useCallback, useEffect, useState } from "preact/hooks"
import { get } from "../../api-client.ts"
import type { CaptureSummary } from "../../api.ts"
import { newestCapture, onReconnected } from "../../live.ts"
import { useLoad } from "../../request-hooks.ts"

export interface CaptureFilter {
  /** Empty: of all. */
  readonly pipeline: string
  /** Empty: of all. */
  readonly outcome: CaptureSummary["outcome"] | ""
  /** Empty: of all. */
  readonly reason: string
}

const PAGE = 100
/** Rows that the page keeps of what comes while it is open. */
const MAX_LIVE = 1000

/**
 * The captured requests that pass a filter, which stays the same while a component is mounted, the newest first; new ones as
 * they come. `list` undefined: not loaded yet; `showOlder` undefined: there are no older ones.
 */
export function useCaptures(filter: CaptureFilter) {
  const [came, setCame] = useState<readonly CaptureSummary[]>([])
  const [older, setOlder] = useState<{ captures: readonly CaptureSummary[]; isEnd: boolean }>()
  const page = (before?: string, signal?: AbortSignal): Promise<CaptureSummary[]> =>
    get("captures", { ...filter, before, limit: PAGE }, signal)
  const first = useLoad((signal) => page(undefined, signal), [])
  useEffect(() => {
    const known = newestCapture.peek()
    return effect(() => {
      const capture = newestCapture.value
      if (capture === undefined || capture === known || !passes(capture, filter)) return
      setCame((all) => [capture, ...all].slice(0, MAX_LIVE))
    })
  }, [])
  const reload = useCallback(() => {
    setCame([])
    setOlder(undefined)
    first.reload()
  }, [first.reload])
  useEffect(() => onReconnected(reload), [reload])
  if (first.value === undefined) return { list: undefined, error: first.error, showOlder: undefined, reload }
  const list = newestFirst([...came, ...first.value, ...(older?.captures ?? [])])
  const isEnd = older?.isEnd ?? first.value.length < PAGE
  const showOlder = async (): Promise<void> => {
    const captures = await page(list.at(-1)!.id)
    setOlder({ captures: [...(older?.captures ?? []), ...captures], isEnd: captures.length < PAGE })
  }
  return { list, error: first.error, showOlder: isEnd ? undefined : showOlder, reload }
}

export const passes = (it: CaptureSummary, filter: CaptureFilter): boolean =>
  (["pipeline", "outcome", "reason"] as const).every(
    (name) => filter[name] === "" || it[name] === filter[name],
  )

/** Each capture once: one that came while the list was loaded is in both. */
export function newestFirst(captures: readonly CaptureSummary[]): readonly CaptureSummary[] {
  return [...new Map(captures.map((it) => [it.id, it])).values()].toSorted((a, b) => b.at - a.at)
}
