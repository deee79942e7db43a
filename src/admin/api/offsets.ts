import type { OffsetRange } from "../../brokers/broker.ts"

/** Offsets of a topic's partitions, or of slots of many, as a text: `0:42.3:17`. */
export const formatOffsets = (offsets: ReadonlyMap<number, number>): string =>
  [...offsets].map(([partition, offset]) => `${partition}:${offset}`).join(".")

/** undefined: malformed. */
export function parseOffsets(text: string): ReadonlyMap<number, number> | undefined {
  if (!/^(\d{1,13}:\d{1,15}(\.|$))*$/.test(text)) return undefined
  const pairs = text.split(".").filter((pair) => pair !== "")
  return new Map(pairs.map((pair) => pair.split(":").map(Number) as [number, number]))
}

/** What lies before these offsets; nothing of partitions that they don't name. */
export const before = (ranges: readonly OffsetRange[], offsets: ReadonlyMap<number, number>): OffsetRange[] =>
  ranges.flatMap((range) => {
    const end = offsets.get(range.partition)
    return end === undefined ? [] : [{ ...range, end: Math.max(range.first, Math.min(range.end, end)) }]
  })
