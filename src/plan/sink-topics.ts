import type { Plan } from "../plan.ts"

/** The topics that the pipelines' sinks publish events to, by connection id; those of dead letters are not among them. */
export function sinkTopics({ pipelines, connections }: Plan): ReadonlyMap<string, readonly string[]> {
  const first = connections.keys().next().value
  const topics = new Map<string, string[]>()
  for (const { sink } of pipelines) {
    const { connection = first, topic } = sink.values as { connection?: string; topic?: unknown }
    if (connection === undefined || typeof topic !== "string") continue
    const others = topics.get(connection)
    if (others === undefined) topics.set(connection, [topic])
    else others.push(topic)
  }
  return topics
}
