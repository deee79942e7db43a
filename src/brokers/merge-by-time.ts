import type { StoredRecord } from "./broker.ts"

/** Merges records by time. Each source keeps its own order: a record waits for those before it, whatever their time. */
export async function* mergeByTime(
  sources: readonly AsyncIterable<StoredRecord>[],
): AsyncGenerator<StoredRecord, void, undefined> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]())
  try {
    const heads = await Promise.all(iterators.map((iterator) => iterator.next()))
    for (;;) {
      let oldest = -1
      for (const [at, { done, value }] of heads.entries()) {
        if (done !== true && (oldest < 0 || value.timestampMs < heads[oldest]!.value!.timestampMs))
          oldest = at
      }
      if (oldest < 0) return
      yield heads[oldest]!.value!
      heads[oldest] = await iterators[oldest]!.next()
    }
  } finally {
    await Promise.all(iterators.map((iterator) => iterator.return?.()))
  }
}
