import type { TopicPlace } from "../config/declarations.ts"
import type { ConfigurationFile } from "../config/file/configuration-file.ts"
import { HooklineError } from "../errors.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import type { Application } from "../runtime/application.ts"

/** A topic as an argument names it: with its connection, unless that is the only one. */
export type NamedTopic = Omit<TopicPlace, "connection"> & { readonly connection: string | undefined }

/**
 * The connections of the configuration file, or the one that is chosen. Only their ids are read: an unset variable or a missing
 * file in a section is no error.
 *
 * @throws HooklineError `config` where there is none, `usage` where there is no such one
 */
export function connectionsOf(app: Application, chosen: string | undefined): readonly string[] {
  const ids = app.connectionIds()
  if (ids.length === 0)
    throw new HooklineError(
      "config",
      "the file has no connection; add [connection:<id>], or name another file",
    )
  if (chosen === undefined) return ids
  if (ids.includes(chosen)) return [chosen]
  throw new HooklineError("usage", `unknown connection ${chosen}; the file has ${ids.join(", ")}`)
}

/**
 * Finds the connections of topics: where an argument names none, it is the chosen one, the only one of the file, or the only one
 * to which its pipelines publish such a topic.
 *
 * @throws HooklineError `config` where there is none, `usage` where there is no such one, or several
 */
export function placesIn(
  app: Application,
  topics: readonly NamedTopic[],
  { config, connection: chosen }: { readonly config?: string; readonly connection?: string },
): readonly TopicPlace[] {
  let published: readonly TopicPlace[] | undefined
  return topics.map(({ topic, connection = chosen }) => {
    const [id, ...others] = connectionsOf(app, connection)
    if (others.length === 0) return { connection: id!, topic }
    published ??= placesOfSinks(loadForCommand(config))
    const [place, ...more] = published.filter((it) => it.topic === topic)
    if (place !== undefined && more.length === 0) return place
    const all = [id, ...others].map((it) => `${it}/${topic}`)
    throw new HooklineError(
      "usage",
      `the file has several connections; name the topic with its own: ${all.join(" or ")}`,
    )
  })
}

/** The topics that the sinks of the file name, each place once, whatever is wrong with the file. */
export function placesOfSinks({ connections, pipelines }: ConfigurationFile): readonly TopicPlace[] {
  const ids = [...connections.keys()]
  const places = [...pipelines.values()].flatMap(({ components }) => {
    const { texts } = components.get("BrokerSink") ?? {}
    const connection = texts?.get("connection")?.value.text ?? (ids.length === 1 ? ids[0] : undefined)
    const topics = [texts?.get("topic")?.value.text, texts?.get("dead_letter_topic")?.value.text]
    return topics.flatMap((topic) =>
      connection === undefined || topic === undefined ? [] : [{ connection, topic }],
    )
  })
  return [...new Map(places.map((it) => [`${it.connection}/${it.topic}`, it])).values()]
}
