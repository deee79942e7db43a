import { describe, expect, test } from "bun:test"
import { temporaryFolder } from "../support/hookline.ts"
import { ANOMALIES, check, type AnomalyKind, type Verdict } from "./check.ts"
import { Column } from "./column.ts"
import { HistoryFile, readHistory, type Op, type Untimed } from "./history.ts"

const RUN = { seed: 1, minutes: 1, perSecond: 1 }

type Reader = "continuous" | "final"

/** A history written by hand; the topics are named as what their pipelines do. */
class Hand {
  readonly ops: Op[] = []

  constructor() {
    this.add({
      f: "run",
      ...RUN,
      topics: { plain: "plain", deduplicated: "deduplicated", spooled: "spooled" },
    })
  }

  add(op: Untimed): this {
    this.ops.push({ t: this.ops.length, ...op } as Op)
    return this
  }

  invoke(n: number, { topic = "plain", key = "k", attempt = 1 } = {}): this {
    return this.add({ f: "send", type: "invoke", topic, key, n, attempt })
  }

  answer(type: "ok" | "fail" | "info", n: number, attempt = 1): this {
    return this.add({ f: "send", type, n, attempt, answer: { ok: 200, fail: 400, info: 503 }[type] })
  }

  /** Posts events one after the other. */
  posts(type: "ok" | "fail" | "info", numbers: readonly number[], topic = "plain"): this {
    for (const n of numbers) this.invoke(n, { topic }).answer(type, n)
    return this
  }

  receipt(n: number, offset: number, partition = 0): this {
    return this.add({ f: "receipt", n, attempt: 1, topic: "plain", partition, offset })
  }

  /** A record alone is that event at its own offset. */
  polls(
    reader: Reader,
    records: readonly (number | readonly [offset: number, n: number])[],
    topic = "plain",
    partition = 0,
  ): this {
    return this.add({
      f: "poll",
      reader,
      topic,
      partition,
      records: records.map((it) => {
        const [offset, n] = typeof it === "number" ? [it, it] : it
        return [offset, n, "k"] as const
      }),
    })
  }

  /** Both readers are given a partition whose log is these events. */
  log(numbers: readonly number[], topic = "plain", partition = 0): this {
    const records = numbers.map((n, offset) => [offset, n] as const)
    return this.polls("continuous", records, topic, partition).polls("final", records, topic, partition)
  }

  /** The kinds of anomalies, and how many there are of each. */
  get found(): { readonly [kind in AnomalyKind]?: number } {
    return foundIn(check(this.ops))
  }
}

const foundIn = ({ counts }: Verdict): { readonly [kind in AnomalyKind]?: number } =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))

const hand = (): Hand => new Hand()

describe("nothing is found in a history", () => {
  const right: { readonly [what: string]: Hand } = {
    "without faults": hand().posts("ok", [0, 1, 2]).receipt(1, 1).log([0, 1, 2]),
    "of an event of unknown outcome that is not in the log": hand()
      .posts("info", [0])
      .posts("ok", [1])
      .log([1]),
    "of an event of unknown outcome that is": hand().posts("info", [0]).posts("ok", [1]).log([0, 1]),
    "of an event that was refused": hand().posts("fail", [0]).posts("ok", [1]).log([1]),
    "of a retry after an unknown outcome, both stored": hand()
      .posts("info", [0])
      .invoke(0, { attempt: 2 })
      .answer("ok", 0, 2)
      .log([0, 0]),
    "of a request that was never answered, stored": hand().invoke(0).log([0]),
    "of an event that a spool repeats behind a later one": hand()
      .posts("ok", [0, 1], "spooled")
      .log([0, 1, 0, 1], "spooled"),
    "of an event that is posted again after its acknowledgement, deduplicated": hand()
      .posts("ok", [0, 0], "deduplicated")
      .log([0], "deduplicated"),
    "of a late copy of unknown outcome behind a later event": hand()
      .posts("info", [0])
      .invoke(0, { attempt: 2 })
      .answer("ok", 0, 2)
      .posts("ok", [1])
      .log([0, 1, 0]),
    "of a key that moved to an added partition": hand()
      .posts("ok", [0, 1, 2])
      .log([0, 1])
      .log([2], "plain", 1),
    "of a reader that begins anew where it was": hand()
      .posts("ok", [0, 1])
      .polls("continuous", [0])
      .add({ f: "assign", reader: "continuous", topic: "plain", partition: 0, offset: 1 })
      .polls("continuous", [1])
      .polls("final", [0, 1]),
  }
  test.each(Object.entries(right))("%s", (_, { found }) => expect(found).toEqual({}))
})

describe("each anomaly is found", () => {
  const wrong: { readonly [kind in AnomalyKind]: { readonly [what: string]: readonly [Hand, object?] } } = {
    "lost-write": {
      "acknowledged and nowhere": [hand().posts("ok", [0, 1]).log([0])],
      "acknowledged by a Deduplicator and nowhere": [hand().posts("ok", [0, 0], "deduplicated")],
      "stored where Kafka said, and read by nobody, though another copy is": [
        hand().posts("info", [0]).posts("ok", [0]).receipt(0, 1).log([0]),
      ],
    },
    unseen: {
      "only the final reader has the last record": [
        hand().posts("ok", [0, 1]).polls("continuous", [0]).polls("final", [0, 1]),
      ],
    },
    "aborted-read": {
      "refused, and in the log": [hand().posts("fail", [0]).log([0])],
      "refused by each of two attempts": [hand().posts("fail", [0, 0]).log([0])],
    },
    duplicate: {
      "acknowledged at once, and twice in the log": [hand().posts("ok", [0]).log([0, 0])],
      "one attempt of unknown outcome, one acknowledged, three copies": [
        hand().posts("info", [0]).posts("ok", [0]).log([0, 0, 0]),
      ],
      "a Deduplicator published what was posted again after its acknowledgement": [
        hand().posts("ok", [0, 0], "deduplicated").log([0, 0], "deduplicated"),
      ],
      "one attempt refused, one acknowledged, two copies": [
        hand().posts("fail", [0]).posts("ok", [0]).log([0, 0]),
      ],
    },
    "inconsistent-offsets": {
      "two readers": [
        hand()
          .posts("ok", [0, 1])
          .polls("continuous", [0, 1])
          .polls("final", [0, [1, 0]]),
        { duplicate: 1, "lost-write": 1 },
      ],
      "Hookline and the readers": [hand().posts("ok", [0, 1]).receipt(0, 1).log([0, 1])],
      "read, and gone at the end": [
        hand().posts("info", [0, 1]).polls("continuous", [0, 1]).polls("final", [0]),
      ],
    },
    "unwritten-read": {
      "never posted": [hand().posts("ok", [0]).log([0, 7])],
      "posted to another topic": [hand().posts("ok", [0]).posts("info", [1], "deduplicated").log([0, 1])],
      "with another key": [hand().invoke(0, { key: "other" }).answer("ok", 0).log([0])],
      "no event": [hand().posts("ok", [0]).log([0, -1])],
    },
    "poll-skip": {
      "between two polls": [
        hand()
          .posts("ok", [0, 1, 2])
          .polls("continuous", [0])
          .polls("continuous", [2])
          .polls("final", [0, 1, 2]),
        { unseen: 1 },
      ],
      "behind the offset where the reader began": [
        hand().posts("ok", [0, 1]).polls("continuous", [1]).polls("final", [0, 1]),
        { unseen: 1 },
      ],
    },
    "int-poll-skip": {
      "within a poll": [
        hand().posts("ok", [0, 1, 2]).polls("continuous", [0, 2]).polls("final", [0, 1, 2]),
        { unseen: 1 },
      ],
    },
    "nonmonotonic-poll": {
      "an offset again": [
        hand()
          .posts("ok", [0, 1])
          .polls("continuous", [0, 1])
          .polls("continuous", [1])
          .polls("final", [0, 1]),
      ],
    },
    "int-nonmonotonic-poll": {
      "an earlier offset": [hand().posts("ok", [0, 1]).polls("continuous", [0, 1, 0]).polls("final", [0, 1])],
    },
    "nonmonotonic-send": {
      "two acknowledged events": [hand().posts("ok", [0, 1]).log([1, 0])],
      "behind one of unknown outcome": [hand().posts("ok", [0]).posts("info", [1]).log([1, 0])],
      "in a spool": [hand().posts("ok", [0, 1], "spooled").log([1, 0, 1], "spooled")],
    },
  }
  for (const [kind, cases] of Object.entries(wrong))
    test.each(Object.entries(cases))(`${kind}: %s`, (_, [{ found }, also = {}]) => {
      expect(found as object).toMatchObject({ [kind]: expect.any(Number), ...also })
      const others = Object.keys(found).filter((it) => it !== kind && !(it in also))
      expect(others).toEqual([])
    })

  test("there is a case of each", () =>
    expect(Object.keys(wrong).toSorted()).toEqual(Object.keys(ANOMALIES).toSorted()))
})

test("events that are no anomalies are counted", () => {
  const { ops } = hand()
    .posts("ok", [0])
    .posts("info", [1, 1, 2])
    .posts("fail", [3])
    .posts("ok", [4], "spooled")
    .log([0, 1, 1])
    .log([4, 4, 4], "spooled")
    .add({ f: "fault", type: "begin", kind: "broker paused", on: "1" })
    .add({ f: "fault", type: "end", kind: "broker paused", on: "1" })
  expect(check(ops)).toMatchObject({
    sent: 5,
    acknowledged: 2,
    found: 3,
    refused: 1,
    unknown: 2,
    posts: 6,
    repeats: { unknown: 1, spooled: 2 },
    polled: 6,
    faults: { "broker paused": 1 },
  })
})

test("an anomaly is given with its event and place", () => {
  expect(check(hand().posts("ok", [0, 1]).receipt(0, 1).log([0, 1]).ops).examples).toEqual([
    {
      kind: "inconsistent-offsets",
      topic: "plain",
      partition: 0,
      offset: 1,
      n: 1,
      detail: "continuous reader; before, it held 0",
    },
  ])
})

test("a history is the same from disk, with times since its start", async () => {
  using folder = temporaryFolder()
  const { ops } = hand().posts("ok", [0, 1]).receipt(0, 1).log([0, 1])
  let nowMs = 5
  const file = new HistoryFile(`${folder.path}/history`, () => nowMs)
  for (const { t, ...op } of ops) {
    nowMs = 5 + t
    file.add(op)
  }
  await file[Symbol.asyncDispose]()
  const read: Op[] = []
  for await (const op of readHistory(file.path)) read.push(op)
  expect(read).toEqual(ops)
})

test("a column grows, and has its default where nothing was set", () => {
  const column = new Column(-1)
  column.set(5000, 7)
  column.add(2, 3)
  expect([column.get(5000), column.get(2), column.get(4999), column.get(99_999), column.get(-1)]).toEqual([
    7, 2, -1, -1, -1,
  ])
  expect(column.length).toBe(5001)
})
