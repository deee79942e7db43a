import { hrefOf, type PageRoute } from "../../router.ts"

/** What a link to Events says: `#/events/<connection>/<topic>[/<partition>/<offset>]?where=…&range=…`. */
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
  readonly topic: string
}

export interface RecordPlace {
  readonly partition: number
  readonly offset: number
}

export function placeOf({ path, query }: Pick<PageRoute, "path" | "query">): EventsPlace {
  const [connection, topic, partition, offset] = path
  const isRecord = [partition, offset].every((it) => /^\d{1,16}$/.test(it ?? ""))
  return {
    source: connection === undefined || topic === undefined ? undefined : { connection, topic },
    record: isRecord ? { partition: Number(partition), offset: Number(offset) } : undefined,
    filter: query["where"] ?? "",
    range: { range: query["range"], since: query["since"], until: query["until"] },
  }
}

export function hrefOfPlace({ source, record, filter, range }: EventsPlace): string {
  const of = source === undefined ? [] : [source.connection, source.topic]
  const path = record === undefined ? of : [...of, record.partition, record.offset]
  return hrefOf("events", path, { where: filter, ...range })
}

export const isSame = (a: RecordPlace | undefined, b: RecordPlace | undefined): boolean =>
  a?.partition === b?.partition && a?.offset === b?.offset
