import { loadForCommand } from "../runtime/load-for-command.ts"
import type { TopicPlace } from "../config/declarations.ts"
import { HooklineError } from "../errors.ts"
import { toShownUrl } from "../outgoing/shown-url.ts"
import { isListeningAt } from "../components/webhook-source/reached-at.ts"
import { planPipeline } from "../runtime/plan/plan-part.ts"
import type { PlannedPipeline } from "../runtime/plan/plan.ts"

/** Pipelines of a file; those that can't run as they are, are left out. @throws HooklineError `no_input` */
export function pipelinesIn(file: string | undefined): PlannedPipeline[] {
  const configuration = loadForCommand(file)
  return [...configuration.pipelines.keys()].flatMap((id) => {
    try {
      return planPipeline(configuration, id)
    } catch (error) {
      if (error instanceof HooklineError && error.code === "config") return []
      throw error
    }
  })
}

/**
 * Refuses a URL at which a pipeline listens that publishes to the topic whose records are to be posted there: each would
 * come back. Not seen: a topic that a Router chooses, and a URL that leads there through a proxy.
 *
 * @param connections ids, the first being that of sinks that name none
 * @throws HooklineError `usage`
 */
export function refuseOwnPipeline(
  url: URL,
  { connection, topic }: TopicPlace,
  pipelines: readonly PlannedPipeline[],
  connections: readonly string[],
): void {
  const found = pipelines.find(
    ({ source, sink: { values } }) =>
      values["topic"] === topic &&
      (values["connection"] ?? connections[0]) === connection &&
      isListeningAt(source.values, url),
  )
  if (found === undefined) return
  throw new HooklineError(
    "usage",
    `${toShownUrl(url)} is pipeline ${found.id} of this configuration, which publishes to ${connection}/${topic}: each record posted there would come back. Name the URL of your application`,
  )
}
