import { expect, test } from "bun:test"
import { fillLog, recordsInLog } from "../../test/support/embedded-log.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { openEmbeddedReader } from "./embedded/reader.ts"
import { countByTime } from "./record-counts.ts"

const { signal } = new AbortController()

test("records are counted by their time, in parts of the whole or of a range, as they are when all are read", async () => {
  using folder = temporaryFolder()
  for (const count of [1, 40, 7, 300])
    await fillLog(
      folder.path,
      "t",
      Array.from({ length: count }, (_, n) => ({ key: undefined, value: Buffer.from(`${n}`), headers: [] })),
    )
  const times = (await recordsInLog(folder.path, "t")).map(({ timestampMs }) => timestampMs)
  const [oldest, newest] = [times[0]!, times.at(-1)!]
  const reader = openEmbeddedReader(folder.path)
  for (const parts of [1, 7, 60])
    for (const [sinceMs, untilMs] of [
      [undefined, newest + 1],
      [oldest + 1, newest],
      [oldest - 1000, newest + 1000],
    ] as const) {
      const counted = await countByTime(reader, "t", { sinceMs, untilMs }, { parts, signal })
      const start = sinceMs ?? oldest
      const bound = (part: number): number => start + ((untilMs - start) * part) / parts
      const expected = Array.from(
        { length: parts },
        (_, n) =>
          times.filter((it) => it >= bound(n) && it < (n === parts - 1 ? untilMs : bound(n + 1))).length,
      )
      expect(counted).toEqual({ sinceMs: start, untilMs, counts: expected })
    }
  const none = await countByTime(reader, "t", { sinceMs: newest + 1 }, { parts: 5, signal })
  expect(none.counts).toEqual([])
  await reader.close()
})
