import { hrefOf, type PageRoute } from "../../router.ts"

/**
 * What a link to Events says: `#/events/<connection>/<topic>[/<partition>/<offset>]?where=…&range=…`. `#/events/<connection>` is all
 * topics, which `all=true` keeps where a record is opened.
 */
export interface EventsPlace {
  /** undefined: the first pipeline's source. */
  readonly source: Source | undefined
  readonly record: RecordPlace | undefined
  /** The filter as it was typed. */
  readonly filter: string
  /** `range`, and `since` and `until` of a custom one. */
  readonly range: { readonly [name: string]: string | undefined }
}

export interface Source {
  readonly connection: string
  /** undefined: all of the connection. */
  readonly topic: string | undefined
}

export interface RecordPlace {
  readonly topic: string
  readonly partition: number
  readonly offset: number
}

export function placeOf({ path, query }: Pick<PageRoute, "path" | "query">): EventsPlace {
  const [connection, topic, partition, offset] = path
  const isRecord = [partition, offset].every((it) => /^\d{1,16}$/.test(it ?? ""))
  return {
    source:
      connection === undefined
        ? undefined
        : { connection, topic: query["all"] === undefined ? topic : undefined },
    record:
      isRecord && topic !== undefined
        ? { topic, partition: Number(partition), offset: Number(offset) }
        : undefined,
    filter: query["where"] ?? "",
    range: { range: query["range"], since: query["since"], until: query["until"] },
  }
}

export function hrefOfPlace({ source, record, filter, range }: EventsPlace): string {
  const { connection = "", topic } = source ?? {}
  const of = [connection, topic ?? ""].filter((it) => it !== "")
  const path = record === undefined ? of : [connection, record.topic, record.partition, record.offset]
  const all = record !== undefined && topic === undefined ? "true" : undefined
  return hrefOf("events", path, { where: filter, ...range, all })
}

export const isSame = (a: RecordPlace | undefined, b: RecordPlace | undefined): boolean =>
  a?.topic === b?.topic && a?.partition === b?.partition && a?.offset === b?.offset
