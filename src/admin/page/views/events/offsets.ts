import type { RecordPlace } from "./place.ts"

/** Offsets of partitions as the API names them, `0:42.3:17`, by partition. */
export const parseOffsets = (text = ""): Map<number, number> =>
  new Map(
    text
      .split(".")
      .filter((pair) => pair !== "")
      .map((pair) => pair.split(":").map(Number) as [number, number]),
  )

/** The API's name for what comes before some records of a live event. `id`: that event's, which names what is after them. */
export function beforeThese(records: readonly RecordPlace[], id: string): string {
  const offsets = parseOffsets(id)
  for (const { partition, offset } of records)
    offsets.set(partition, Math.min(offset, offsets.get(partition) ?? offset))
  return [...offsets].map(([partition, offset]) => `${partition}:${offset}`).join(".")
}
