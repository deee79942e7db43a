import type { PipelineOverview } from "../../api.ts"

/** A column that the table can be sorted by. */
export type SortKey = "name" | "events" | "refused" | "p50" | "p99" | "last"

export interface Sort {
  readonly key: SortKey
  readonly isDescending: boolean
}

type Value = number | string | null

const VALUES: { readonly [key in SortKey]: (pipeline: PipelineOverview) => Value } = {
  name: ({ id }) => id,
  events: (it) => it.events_per_second,
  refused: (it) => it.refused_per_second,
  p50: (it) => it.p50_ms,
  p99: (it) => it.p99_ms,
  last: (it) => it.last_event_at,
}

/** Reads the order of a link: `p99`, `-p99`; undefined or unknown: the order of the configuration file. */
export function parseSort(text: string | undefined): Sort | undefined {
  const [, minus, key] = /^(-?)(\w+)$/.exec(text ?? "") ?? []
  return key !== undefined && Object.hasOwn(VALUES, key)
    ? { key: key as SortKey, isDescending: minus === "-" }
    : undefined
}

/** What a press on a column's head leads to: numbers begin with the largest, and the third press ends sorting. */
export function nextSort(sort: Sort | undefined, key: SortKey): string | undefined {
  const isFirstDescending = key !== "name"
  if (sort?.key !== key) return isFirstDescending ? `-${key}` : key
  if (sort.isDescending !== isFirstDescending) return undefined
  return isFirstDescending ? key : `-${key}`
}

/** The pipelines whose name, provider, address or topic has all words, sorted; those without a value come last. */
export function rowsOf(
  pipelines: readonly PipelineOverview[],
  search: string,
  sort: Sort | undefined,
): readonly PipelineOverview[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = pipelines.filter(({ id, provider, url, topic }) => {
    const text = `${id} ${provider ?? ""} ${url} ${topic}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  if (sort === undefined) return found
  const value = VALUES[sort.key]
  return found.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)]
    if (x === null || y === null) return Number(x === null) - Number(y === null)
    const order = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y)
    return sort.isDescending ? -order : order
  })
}

/** The path of a pipeline's address, as a column shows it. */
export const pathOf = (url: string): string => (URL.canParse(url) ? new URL(url).pathname : url)
