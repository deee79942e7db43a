import { hrefOf, type Route } from "../../router.ts"

/** What a link to Events says: `#/events/<topic>[/<partition>/<offset>]?connection=…&where=…&range=…`. */
export interface Place {
  /** undefined: the first that has it. */
  readonly connection: string | undefined
  /** undefined: the first pipeline's. */
  readonly topic: string | undefined
  readonly record: RecordPlace | undefined
  /** As it was typed. */
  readonly filter: string
  /** `range`, and `since` and `until` of a custom one. */
  readonly range: { readonly [name: string]: string | undefined }
}

export interface RecordPlace {
  readonly partition: number
  readonly offset: number
}

export function placeOf({ path, query }: Pick<Route, "path" | "query">): Place {
  const [topic, partition, offset] = path
  const isRecord = [partition, offset].every((it) => /^\d{1,16}$/.test(it ?? ""))
  return {
    connection: query["connection"],
    topic,
    record: isRecord ? { partition: Number(partition), offset: Number(offset) } : undefined,
    filter: query["where"] ?? "",
    range: { range: query["range"], since: query["since"], until: query["until"] },
  }
}

export function hrefOfPlace({ connection, topic, record, filter, range }: Place): string {
  const path = topic === undefined ? [] : [topic, ...(record ? [record.partition, record.offset] : [])]
  return hrefOf("events", path, { connection, where: filter, ...range })
}

export const isSame = (a: RecordPlace | undefined, b: RecordPlace | undefined): boolean =>
  a?.partition === b?.partition && a?.offset === b?.offset
