import type { LogReader, StoredRecord } from "./broker.ts"

/** Where reading begins: the oldest record kept, the end, or an offset (of every partition). */
export type ReadFrom = "beginning" | "end" | number

/**
 * Yields a topic's records, by offset within each partition. Ends at the end of the log as of now, or, with `follow`, when
 * the signal aborts.
 *
 * @throws HooklineError `no_topic`, `unavailable`, `no_input`
 */
export async function* readTopic(
  reader: LogReader,
  topic: string,
  { from, follow, signal }: { from: ReadFrom; follow: boolean; signal: AbortSignal },
): AsyncGenerator<StoredRecord, void, undefined> {
  const ranges = (await reader.ranges(topic)).map(({ partition, first, end }) => ({
    partition,
    first: from === "beginning" ? first : from === "end" ? end : Math.min(Math.max(from, first), end),
    end: follow ? Number.POSITIVE_INFINITY : end,
  }))
  yield* reader.read(topic, ranges, { retries: follow, signal })
}
