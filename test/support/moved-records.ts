import type { Record } from "../../src/pipeline/record.ts"

/** A record as it is compared: bytes as text of latin1, so that they can be compared at once. */
export interface Moved {
  readonly partition: number
  readonly timestampMs: number
  readonly key: string | undefined
  readonly value: string
  /** As kcat writes them: `name=value,name=value`. */
  readonly headers: string
}

/** An hour ago: among records older than a day a restarted broker recognises no duplicates, docs/reliability.md. */
const START_MS = Date.now() - 3_600_000
const KEYS = 97

/** Records of many keys, every fifth without one, with values of any bytes and numbered by a header. */
export const numberedRecords = (count: number): Omit<Record, "topic">[] =>
  Array.from({ length: count }, (_, n) => ({
    key: n % 5 === 0 ? undefined : Buffer.from(`k${n % KEYS}`),
    value: Buffer.from(`{"n":${n},"raw":"${"\u0000\nü".slice(0, n % 4)}${"x".repeat(n % 200)}"}`),
    headers: [
      ["n", Buffer.from(`${n}`)],
      ["n", Buffer.from("again")],
    ],
    timestampMs: START_MS + n,
  }))

export const toMoved = (record: {
  readonly partition?: number
  readonly timestampMs?: number | undefined
  readonly key?: Uint8Array | undefined
  readonly value: Uint8Array
  readonly headers?: string | readonly (readonly [string, Uint8Array])[] | undefined
}): Moved => {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")
  const { partition = 0, timestampMs = -1, key, value, headers = [] } = record
  return {
    partition,
    timestampMs,
    key: key === undefined ? undefined : text(key),
    value: text(value),
    headers:
      typeof headers === "string" ? headers : headers.map(([name, of]) => `${name}=${text(of)}`).join(","),
  }
}

/** What became of records that were replayed, in the terms of the table of faults. */
export interface MovedFindings {
  readonly sent: number
  readonly acknowledged: number
  readonly found: number
  readonly lost: number
  readonly doubled: number
  readonly longestWaitMs: undefined
  /** In the target with another key, value, header or time. */
  readonly changed: number
  /** In a partition where they came first, behind one that was after it in the source. */
  readonly disordered: number
  /** How often the records of a partition begin again before what it has. */
  readonly restarts: number
}

/** @param target by offset within each partition */
export function compareMoved(
  source: readonly Omit<Record, "topic">[],
  target: readonly Moved[],
): MovedFindings {
  const seen = new Set<number>()
  const last = new Map<number, { first: number; any: number }>()
  let [changed, disordered, restarts] = [0, 0, 0]
  for (const record of target) {
    const n = Number(/^n=(\d+),/.exec(record.headers)?.[1])
    const original = source[n]
    if (
      original === undefined ||
      !Bun.deepEquals({ ...toMoved(original), partition: record.partition }, record)
    )
      changed++
    const before = last.get(record.partition) ?? { first: -1, any: -1 }
    if (n <= before.any) restarts++
    if (!seen.has(n) && n < before.first) disordered++
    last.set(record.partition, { first: seen.has(n) ? before.first : n, any: n })
    seen.add(n)
  }
  return {
    sent: source.length,
    acknowledged: source.length,
    found: seen.size,
    lost: source.length - seen.size,
    doubled: target.length - seen.size,
    longestWaitMs: undefined,
    changed,
    disordered,
    restarts,
  }
}
