import { expect, test } from "bun:test"
import type { RecordSummary } from "../../../api/shapes.ts"
import { beforeThese } from "./offsets.ts"
import { RecordPages } from "./record-pages.ts"

const record = (offset: number): RecordSummary => ({
  partition: 0,
  offset,
  timestamp: offset,
  key: null,
  bytes: 2,
  type: null,
  event_id: null,
  preview: "{}",
})
/** The newest first. */
const records = (from: number, until: number): RecordSummary[] =>
  Array.from({ length: until - from }, (_, n) => record(until - 1 - n))
const offsets = (pages: RecordPages, first = 0, end = pages.count): (number | undefined)[] =>
  pages.slice(first, end).map((it) => it?.offset)

test("newer ones come before the first page, older ones after it", () => {
  const pages = new RecordPages(1000)
  pages.addOlder({ records: records(10, 13), older: "0:10", scanned: 3 }, "0:13")
  pages.addNewer([record(13), record(14)], "0:15")
  pages.addOlder({ records: records(8, 10), older: null, scanned: 2 }, "0:10")
  expect(offsets(pages)).toEqual([14, 13, 12, 11, 10, 9, 8])
  expect(offsets(pages, 1, 3)).toEqual([13, 12])
  expect(pages.indexOf({ partition: 0, offset: 9 })).toBe(5)
  expect(pages.indexOf({ partition: 1, offset: 9 })).toBe(-1)
  expect(pages.older).toBeNull()
})

test("what is far from where someone looks is let go, and restored from the same place", () => {
  const pages = new RecordPages(1000)
  for (let end = 5000; end > 0; end -= 500)
    pages.addOlder(
      { records: records(end - 500, end), older: end === 500 ? null : `0:${end - 500}`, scanned: 500 },
      `0:${end}`,
    )
  pages.letGo(2200)
  expect(pages.count).toBe(5000)
  expect(offsets(pages, 2000, 2500)).toEqual(records(2500, 3000).map(({ offset }) => offset))
  expect(offsets(pages, 0, 2)).toEqual([undefined, undefined])
  const [first, ...others] = pages.missing(0, 40)
  expect(first).toMatchObject({ before: "0:5000", count: 500 })
  expect(others).toEqual([])
  pages.restore(first!, records(4500, 5000), "0:4500")
  expect(offsets(pages, 0, 2)).toEqual([4999, 4998])
  expect(pages.slice(0, 5000).filter((it) => it !== undefined)).toHaveLength(1500)
})

test("a page that retention has removed leaves the list", () => {
  const pages = new RecordPages(10)
  pages.addOlder({ records: records(10, 20), older: "0:10", scanned: 10 }, "0:20")
  pages.addOlder({ records: records(0, 10), older: null, scanned: 10 }, "0:10")
  pages.letGo(0)
  pages.restore(pages.missing(10, 20)[0]!, [], null)
  expect(pages.count).toBe(10)
})

test("a tail that runs for long is bounded: the oldest are loaded again where someone scrolls to them", () => {
  const pages = new RecordPages(10_000)
  for (let at = 0; at < 300_000; at += 200) {
    pages.addNewer(records(at, at + 200).toReversed(), `0:${at + 200}`)
    pages.letGo(0)
  }
  expect(pages.count).toBeLessThanOrEqual(200_000)
  expect(pages.slice(0, pages.count).filter((it) => it !== undefined).length).toBeLessThanOrEqual(10_000)
  expect(offsets(pages, 0, 1)).toEqual([299_999])
  expect(pages.older).toBe(`0:${300_000 - pages.count}`)
})

test("newer ones that were left out are loaded where someone looks, some at a time, none twice", () => {
  const pages = new RecordPages(10_000)
  pages.addOlder({ records: records(0, 10), older: null, scanned: 10 }, "0:10")
  pages.addMissing(1190, "0:1200")
  pages.addNewer([record(1200), record(1201)], "0:1202")
  expect(offsets(pages, 0, 3)).toEqual([1201, 1200, undefined])
  expect(pages.count).toBe(1202)
  const [gap] = pages.missing(0, 20)
  pages.restore(gap!, records(700, 1200), "0:700")
  expect(offsets(pages, 1, 502)).toEqual([1200, ...records(700, 1200).map(({ offset }) => offset)])
  expect(pages.missing(600, 700)).toMatchObject([{ before: "0:700", count: 690 }])
  pages.restore(pages.missing(600, 700)[0]!, records(200, 700), "0:200")
  // fewer than was thought: the others have no record
  pages.restore(pages.missing(1100, 1101)[0]!, records(5, 150), "0:5")
  expect(offsets(pages, 1000)).toEqual([...records(200, 202), ...records(0, 150)].map(({ offset }) => offset))
})

test("what is before the records of a live event is named by partition", () => {
  const at = (partition: number, offset: number): RecordSummary => ({ ...record(offset), partition })
  expect(beforeThese([at(0, 7), at(0, 8), at(3, 1)], "0:9.2:5.3:2")).toBe("0:7.2:5.3:1")
  expect(beforeThese([], "")).toBe("")
})
