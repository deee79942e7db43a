import type { PipelineOverview } from "../../api.ts"

/** A column that the table can be sorted by. */
export type SortKey = "name" | "state" | "events" | "refused" | "p50" | "p99" | "last"

export interface Sort {
  readonly key: SortKey
  readonly isDescending: boolean
}

type Value = number | string | null

/** What needs someone first; what only comes and goes is not sorted apart, so that rows stay where they are. */
const RANKS: { readonly [state in PipelineOverview["state"]["name"]]: number } = {
  down: 0,
  refusing: 1,
  silent: 2,
  receiving: 3,
  idle: 3,
}

/** The share of the last minute's requests that was refused. */
export function refusedShare(it: Rates): number {
  const all = it.events_per_second + it.dropped_per_second + it.refused_per_second
  return all === 0 ? 0 : it.refused_per_second / all
}

type Rates = Pick<PipelineOverview, "events_per_second" | "dropped_per_second" | "refused_per_second">

const VALUES: { readonly [key in SortKey]: (pipeline: PipelineOverview) => Value } = {
  name: ({ id }) => id,
  state: ({ state }) => RANKS[state.name],
  events: (it) => it.events_per_second,
  refused: refusedShare,
  p50: (it) => it.p50_ms,
  p99: (it) => it.p99_ms,
  last: (it) => it.last_event_at,
}

/** Reads the order of a link: `p99`, `-p99`; undefined or unknown: problems first, then the configuration file's. */
export function parseSort(text: string | undefined): Sort {
  const [, minus, key] = /^(-?)(\w+)$/.exec(text ?? "") ?? []
  return key !== undefined && Object.hasOwn(VALUES, key)
    ? { key: key as SortKey, isDescending: minus === "-" }
    : { key: "state", isDescending: false }
}

/** What a press on a column's head leads to: numbers begin with the largest, and the third press ends sorting. */
export function nextSort(sort: Sort, key: SortKey): string | undefined {
  if (key === "state") return sort.key === key && !sort.isDescending ? "-state" : undefined
  const isFirstDescending = key !== "name"
  if (sort.key !== key) return isFirstDescending ? `-${key}` : key
  if (sort.isDescending !== isFirstDescending) return undefined
  return isFirstDescending ? key : `-${key}`
}

/** The pipelines whose name, provider, address or topic has all words, sorted; those without a value come last. */
export function rowsOf(
  pipelines: readonly PipelineOverview[],
  search: string,
  sort: Sort,
): readonly PipelineOverview[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = pipelines.filter(({ id, provider, url, topic }) => {
    const text = `${id} ${provider ?? ""} ${url} ${topic}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
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
