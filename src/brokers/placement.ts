// Hot path: each record passes here.
import type { Record } from "../pipeline/record.ts"
import { partitionOf } from "./murmur2.ts"

/** Whether the record's partition is its own matter; else any takes it. */
export const isPlaced = ({ key, sourcePartition }: Record): boolean =>
  key !== undefined || sourcePartition !== undefined

/** The partition of a placed record, in a topic of that many. */
export function partitionFor({ key, sourcePartition: from }: Record, count: number): number {
  if (from !== undefined && (key === undefined || from.of === count)) return from.number % count
  return partitionOf(key!, count)
}
