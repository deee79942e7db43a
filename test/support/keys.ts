import { partitionOf } from "../../src/brokers/murmur2.ts"

/** A key for each partition of a topic that has that many; that of partition 0 first. */
export function keysOfEach(partitions: number): string[] {
  const keys: string[] = []
  for (let n = 0, found = 0; found < partitions; n++) {
    const partition = partitionOf(Buffer.from(`k${n}`), partitions)
    if (keys[partition] !== undefined) continue
    keys[partition] = `k${n}`
    found += 1
  }
  return keys
}

/** So many keys that go to a range of partitions, `to` not included. */
export function keysIn(partitions: number, from: number, to: number, count: number): string[] {
  const keys: string[] = []
  for (let n = 0; keys.length < count; n++) {
    const partition = partitionOf(Buffer.from(`k${n}`), partitions)
    if (partition >= from && partition < to) keys.push(`k${n}`)
  }
  return keys
}
