import { expect, test } from "bun:test"
import { FakeLog } from "../../../test/support/fake-listener-log.ts"
import { LogView } from "../log-view.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { SharedCounters } from "../shared-counters.ts"
import type { Context } from "./context.ts"
import { listOffsets } from "./offsets.ts"

const log = new FakeLog()
for (let n = 0; n < 5; n++) log.append("t", Buffer.from(`{"n":${n}}`))
const view = new LogView(() => log, new SharedCounters())
view.open()

type Asked = { readonly name: string; readonly partitions: readonly object[] }

/** The error code and offset of each partition, in the order of the request. */
async function list(
  topics: readonly Asked[],
): Promise<(readonly [number | undefined, number | undefined])[]> {
  const serve = listOffsets.serve as (request: object, context: Partial<Context>) => unknown
  const answer = (await serve({ topics }, { log: view })) as {
    topics: { partitions: { errorCode?: number; offset?: number }[] }[]
  }
  return answer.topics.flatMap(({ partitions }) =>
    partitions.map(({ errorCode, offset }) => [errorCode, offset] as const),
  )
}

const at = (timestamp: number, partitionIndex = 0) => ({ partitionIndex, timestamp })

test.each<[what: string, timestamp: number, expected: readonly [number | undefined, number | undefined]]>([
  ["the end", -1, [undefined, 5]],
  ["the first record", -2, [undefined, 0]],
  ["the newest time", -3, [undefined, 4]],
  ["the first local record", -4, [undefined, 0]],
  ["the last tiered record", -5, [undefined, -1]],
  ["the first record to upload", -6, [undefined, 0]],
  ["a special time that does not exist", -7, [ERROR.UNSUPPORTED_VERSION, undefined]],
  ["a time before 1970", -1_000_000, [ERROR.UNSUPPORTED_VERSION, undefined]],
  ["1970", 0, [undefined, 0]],
  ["a time after the last record's", 8_000_000_000_000, [undefined, -1]],
])("the offset at %s (%i)", async (_, timestamp, expected) => {
  expect(await list([{ name: "t", partitions: [at(timestamp)] }])).toEqual([expected])
})

type Answered = readonly [errorCode: number | undefined, offset: number | undefined]

const TWICE: Answered = [ERROR.INVALID_REQUEST, undefined]

test.each<[what: string, topics: readonly Asked[], expected: Answered[]]>([
  ["in one list", [{ name: "t", partitions: [at(-1), at(-2)] }], [TWICE, TWICE]],
  [
    "in lists of its topic",
    [
      { name: "t", partitions: [at(-1)] },
      { name: "t", partitions: [at(-1)] },
    ],
    [TWICE, TWICE],
  ],
  [
    "next to another",
    [{ name: "t", partitions: [at(-1), at(-1, 1), at(-1, 1)] }],
    [[undefined, 5], TWICE, TWICE],
  ],
])("a partition that a request names twice, %s, is an invalid request", async (_, topics, expected) => {
  expect(await list(topics)).toEqual(expected)
})
