import { get } from "../../api-client.ts"
import type { TopicOverview } from "../../api.ts"
import { overview } from "../../live.ts"
import { useLoad } from "../../request-hooks.ts"

/** Whether no pipeline has published an event yet, before this start neither; undefined: not known yet. */
export function useIsFirstRun(): boolean | undefined {
  const pipelines = overview.value?.pipelines
  const isQuiet = pipelines?.every(({ last_event_at }) => last_event_at === null)
  const { value, error } = useLoad(
    async (signal) => {
      if (isQuiet !== true) return undefined
      const topics = await get<TopicOverview[]>("topics", {}, signal)
      const isPublishedTo = (it: TopicOverview): boolean =>
        pipelines!.some(({ connection, topic }) => connection === it.connection && topic === it.topic)
      return !topics.some((it) => it.records > 0 && isPublishedTo(it))
    },
    [isQuiet],
  )
  // what can't be known is no first run: the overview says why
  if (isQuiet === false || error !== undefined) return false
  return value
}
