/** Where a record is, as the API names it in `older` and in ids. */
interface RecordSlot {
  readonly slot: number
  readonly offset: number
}

/** Offsets of partitions as the API names them, `0:42.3:17`, by partition. */
const parseOffsets = (text: string): Map<number, number> =>
  new Map(
    text
      .split(".")
      .filter((pair) => pair !== "")
      .map((pair) => pair.split(":").map(Number) as [number, number]),
  )

/** The API's name for what comes before some records of a live event. `id`: that event's, which names what is after them. */
export function beforeThese(records: readonly RecordSlot[], id: string): string {
  const offsets = parseOffsets(id)
  for (const { slot: partition, offset } of records)
    offsets.set(partition, Math.min(offset, offsets.get(partition) ?? offset))
  return format(offsets)
}

/** The API's name for some records and what comes before them. `before`: its name for the latter; null: nothing does. */
export function withThese(records: readonly RecordSlot[], before: string | null): string {
  const offsets = parseOffsets(before ?? "")
  for (const { slot: partition, offset } of records)
    offsets.set(partition, Math.max(offset + 1, offsets.get(partition) ?? 0))
  return format(offsets)
}

const format = (offsets: ReadonlyMap<number, number>): string =>
  [...offsets].map(([partition, offset]) => `${partition}:${offset}`).join(".")
