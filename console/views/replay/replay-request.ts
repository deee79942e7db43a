import type { ReplayRequest } from "../../api.ts"
import { fromLocalTime, toLocalTime } from "../../format.ts"
import { parseCondition } from "../events/condition.ts"

/** What the form's fields hold, by their names; the link's query fills them. */
export interface ReplayFields {
  /** `connection/topic`; ids of connections have no `/`. */
  readonly source: string
  readonly partition: string
  readonly range: "all" | "offsets" | "times"
  readonly from_offset: string
  readonly until_offset: string
  /** Times as `datetime-local` has them. */
  readonly since: string
  readonly until: string
  readonly where: string
}

const isOffset = (text: string | undefined): text is string => text !== undefined && /^\d+$/.test(text)

/** The fields of a link such as `#/replay?connection=log&topic=payments&from_offset=42&until_offset=43`. */
export function fieldsOf(query: { readonly [name: string]: string | undefined }): ReplayFields {
  const {
    connection = "",
    topic = "",
    partition,
    from_offset,
    until_offset,
    since,
    until,
    where = "",
  } = query
  const timeOf = (text: string | undefined): string => (text === undefined ? "" : toLocalTime(Number(text)))
  const times = { since: timeOf(since), until: timeOf(until) }
  const hasOffsets = isOffset(from_offset) || isOffset(until_offset)
  return {
    source: topic === "" ? "" : `${connection}/${topic}`,
    partition: isOffset(partition) ? partition : "",
    range: hasOffsets ? "offsets" : times.since !== "" || times.until !== "" ? "times" : "all",
    from_offset: isOffset(from_offset) ? from_offset : "",
    until_offset: isOffset(until_offset) ? until_offset : "",
    ...times,
    where,
  }
}

/** What a filled form asks for. @throws Error where its filter is none */
export function requestOf(form: FormData): ReplayRequest {
  const text = (name: string): string => {
    const value = form.get(name)
    return typeof value === "string" ? value.trim() : ""
  }
  const entered = <Name extends string, T>(name: Name, value: (text: string) => T): { [name in Name]?: T } =>
    text(name) === "" ? {} : ({ [name]: value(text(name)) } as { [name in Name]: T })
  const [connection, topic] = splitSource(text("source"))
  const condition = parseCondition(text("where"))
  if ("problem" in condition) throw new Error(condition.problem)
  return {
    from: {
      connection,
      topic,
      ...entered("partition", Number),
      ...entered("from_offset", Number),
      ...entered("until_offset", Number),
      ...entered("since", fromLocalTime),
      ...entered("until", fromLocalTime),
      ...(condition.where !== undefined && { where: condition.where }),
    },
    to:
      text("to") === "url"
        ? { url: text("url") }
        : { connection: text("to_connection"), topic: text("to_topic") },
    ...entered("rate", Number),
  }
}

export function splitSource(source: string): readonly [connection: string, topic: string] {
  const at = source.indexOf("/")
  return [source.slice(0, at), source.slice(at + 1)]
}

/** `log/payments, partition 0, offsets 42 to 100`; `until_offset` is before it. */
export function describeFrom(from: ReplayRequest["from"], formatTime: (ms: number) => string): string {
  const { connection, topic, partition, from_offset, until_offset, since, until, where } = from
  const parts = [`${connection}/${topic}`]
  if (partition !== undefined) parts.push(`partition ${partition}`)
  if (from_offset !== undefined || until_offset !== undefined)
    parts.push(`offsets ${from_offset ?? 0} to ${until_offset === undefined ? "the end" : until_offset - 1}`)
  if (since !== undefined) parts.push(`since ${formatTime(since)}`)
  if (until !== undefined) parts.push(`until ${formatTime(until)}`)
  if (where !== undefined) parts.push(`where ${where}`)
  return parts.join(", ")
}

export const describeTo = (to: ReplayRequest["to"]): string =>
  "url" in to ? to.url : `${to.connection}/${to.topic}`
