import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { placeOf, PLENTY, PRODUCER, started } from "../../../test/support/kafka-topic.ts"
import type { PublishError } from "../../errors.ts"
import type { Receipt } from "../../pipeline/record.ts"
import type { Batch } from "./partition.ts"

const NONE = 0
const [UNKNOWN_TOPIC, NOT_LEADER, CORRUPT, OUT_OF_ORDER, DUPLICATE, INVALID_REQUEST] = [3, 6, 2, 45, 46, 42]
const [TOO_LARGE, NOT_ENOUGH_REPLICAS] = [10, 19]

describe("a batch is not acknowledged", () => {
  test.each([
    ["at the offset of the last record", 4],
    ["below the last record", 0],
  ])("that is said to be %s", async (_, offset) => {
    const fixture = started()
    fixture.settle(fixture.send(0, 5).batch, NONE, 0)
    const { batch, answers } = fixture.send(0, 1)
    fixture.settle(batch, NONE, offset)
    expect(await answers[0]).toMatchObject({ code: "unavailable" })
    expect(fixture.renewals).toHaveLength(1)
    expect(fixture.errors).toHaveLength(1)
    // a log that was truncated continues from there
    fixture.settle(fixture.send(0, 1, 8n).batch, NONE, offset + 1)
    expect(fixture.errors).toHaveLength(1)
  })

  test("that is called a duplicate although it was sent once", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0)
    fixture.settle(batch, DUPLICATE)
    expect(await answers[0]).toMatchObject({ code: "unavailable" })
    expect(fixture.renewals).toHaveLength(1)
  })

  test("that is called a duplicate after its connection was lost, is: it is in the log", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0)
    batch.partition.lost(batch, fixture.nowMs)
    fixture.settle(batch, DUPLICATE)
    expect(await answers[0]).toEqual({ partition: 0, offset: -1 })
    expect(fixture.renewals).toEqual([])
  })
})

describe("a batch is retried a bounded number of times", () => {
  test("on errors that say nothing of it, then its records are rejected and the epoch is raised", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0, 2)
    for (let tries = 1; tries < 8; tries++) {
      fixture.settle(batch, INVALID_REQUEST)
      expect(fixture.partition(0).batch).toBe(batch)
    }
    fixture.settle(batch, INVALID_REQUEST)
    for (const answer of answers) expect(await answer).toMatchObject({ code: "refused" })
    expect(((await answers[0]) as PublishError).message).toContain("42 (INVALID_REQUEST)")
    expect(fixture.errors).toHaveLength(1)
    expect(placeOf(fixture.send(0).batch)).toMatchObject({ epoch: 1, sequence: 0 })
  })

  test("when it is corrupt each time, then the record to blame is isolated", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0, 2)
    for (let tries = 0; tries < 5; tries++) fixture.settle(batch, CORRUPT)
    const first = fixture.form(0)
    expect(first.records).toHaveLength(1)
    for (let tries = 0; tries < 5; tries++) fixture.settle(first, CORRUPT)
    fixture.settle(fixture.form(0), NONE, 0)
    expect(await answers[0]).toMatchObject({ code: "refused" })
    expect(await answers[1]).toEqual({ partition: 0, offset: 0 })
  })

  test("on sequence errors under new epochs; another producer id is requested once", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0)
    fixture.settle(batch, OUT_OF_ORDER)
    for (let tries = 2; tries <= 5; tries++) fixture.settle(fixture.form(0), OUT_OF_ORDER)
    expect(await answers[0]).toMatchObject({ code: "refused" })
    expect(fixture.renewals).toHaveLength(1)
  })

  test("but without bound while its leader moves", () => {
    const fixture = started()
    const { batch } = fixture.send(0)
    for (let tries = 0; tries < 1000; tries++) fixture.settle(batch, NOT_LEADER)
    expect(fixture.partition(0).batch).toBe(batch)
    expect(fixture.errors).toEqual([])
  })
})

test("a batch that a new leader was given meanwhile is not split because of the one before", async () => {
  const fixture = started()
  const { batch, answers } = fixture.send(0, 2)
  batch.partition.cannotBeSent(batch, 10)
  expect(fixture.partition(0).batch).toBe(batch)
  fixture.settle(batch, NONE, 0)
  expect(await Promise.all(answers)).toEqual([
    { partition: 0, offset: 0 },
    { partition: 0, offset: 1 },
  ])
})

describe("a batch of unknown outcome", () => {
  test("is sent again as it is, and what comes later waits for it", () => {
    const fixture = started()
    const { batch } = fixture.send(0)
    const bytes = Buffer.from(batch.bytes)
    batch.partition.lost(batch, fixture.nowMs)
    fixture.queue(fixture.partition(0))
    expect(fixture.partition(0).batch).toBe(batch)
    fixture.settle(batch, NOT_ENOUGH_REPLICAS)
    expect(fixture.partition(0).batch).toBe(batch)
    expect(batch.bytes).toEqual(bytes)
    fixture.settle(batch, NONE, 0)
    expect(placeOf(fixture.form(0))).toEqual({ producer: PRODUCER, epoch: 0, sequence: 1 })
  })

  test("is given up at its first deadline, and the epoch is raised", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0, 2, PRODUCER, 3000)
    batch.partition.lost(batch, fixture.nowMs)
    batch.partition.expire(2999)
    expect(fixture.partition(0).batch).toBe(batch)
    batch.partition.expire(3000)
    for (const answer of answers) expect(await answer).toMatchObject({ code: "deadline" })
    expect(placeOf(fixture.send(0).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test("that is in flight at its deadline is given up with its answer at the latest", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0, 1, PRODUCER, 3000)
    batch.partition.expire(3000)
    expect(await answers[0]).toMatchObject({ code: "deadline" })
    expect(fixture.partition(0).batch).toBe(batch)
    batch.partition.lost(batch, 4000)
    batch.partition.expire(4000)
    expect(placeOf(fixture.send(0).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test("whose records were cancelled is not sent again", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0)
    fixture.topic.cancel()
    expect(await answers[0]).toMatchObject({ code: "unavailable" })
    fixture.settle(batch, NOT_LEADER)
    expect(fixture.partition(0).batch).toBeUndefined()
    expect(placeOf(fixture.send(0).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })
})

test("records of a batch that was not appended keep their order before later ones, and their sequence", async () => {
  const fixture = started()
  const { batch, answers } = fixture.send(0, 3)
  const later = fixture.queue(fixture.partition(0))
  fixture.settle(batch, NOT_ENOUGH_REPLICAS)
  const again = fixture.form(0)
  expect(placeOf(again)).toEqual({ producer: PRODUCER, epoch: 0, sequence: 0 })
  fixture.settle(again, NONE, 0)
  const offsets = (await Promise.all([...answers, later])).map((answer) => (answer as Receipt).offset)
  expect(offsets).toEqual([0, 1, 2, 3])
})

test("a record that is too large is found among others, which are stored in their order", async () => {
  const fixture = started()
  const { batch, answers } = fixture.send(0, 5)
  const tooLarge = batch.records[3]
  let offset = 0
  for (let next: Batch | undefined = batch; next !== undefined; next = fixture.next(0)) {
    if (next.records.includes(tooLarge!)) fixture.settle(next, TOO_LARGE)
    else fixture.settle(next, NONE, offset)
    if (!next.records.includes(tooLarge!)) offset += next.records.length
  }
  const results = await Promise.all(answers)
  expect(results[3]).toMatchObject({ code: "record_too_large" })
  expect(results.toSpliced(3, 1)).toEqual([0, 1, 2, 3].map((at) => ({ partition: 0, offset: at })))
})

describe("a batch on which the broker keeps closing the connection", () => {
  test("is split under a new epoch when it is over the limit", () => {
    const fixture = started()
    const { batch } = fixture.send(0, 2)
    batch.inFlight = false
    batch.partition.cannotBeSent(batch, 10)
    expect(placeOf(fixture.form(0))).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test.each([
    ["a single record over the limit", 1, 10, "record_too_large"],
    ["within the limit", 2, PLENTY, "refused"],
  ])("is given up: %s", async (_, records, limit, code) => {
    const fixture = started()
    const { batch, answers } = fixture.send(0, records)
    batch.inFlight = false
    batch.partition.cannotBeSent(batch, limit)
    for (const answer of answers) expect(await answer).toMatchObject({ code })
    expect(placeOf(fixture.send(0).batch).epoch).toBe(1)
  })
})

test("no place in the sequence of a batch that may be in the log is used for another, and no epoch is lowered", () => {
  const codes = [
    NONE,
    UNKNOWN_TOPIC,
    NOT_LEADER,
    CORRUPT,
    OUT_OF_ORDER,
    INVALID_REQUEST,
    NOT_ENOUGH_REPLICAS,
    TOO_LARGE,
  ]
  const step = fc.oneof(
    fc.record({ kind: fc.constant("answer" as const), code: fc.constantFrom(...codes) }),
    fc.record({
      kind: fc.constantFrom(...(["lost", "late", "cancel", "recreate", "abandon"] as const)),
    }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const fixture = started(1)
      const seen = new Map<string, string>()
      let [lastEpoch, offset, ids, sent] = [0, 0, 0, 0]
      for (const one of steps) {
        const partition = fixture.partition(0)
        void fixture.queue(partition, fixture.nowMs + 1000, `${sent++}`)
        const batch = partition.batch ?? fixture.form(0)
        batch.inFlight = true
        const { epoch, sequence } = placeOf(batch)
        const bytes = batch.bytes.toString("latin1")
        expect(seen.get(`${epoch}/${sequence}`) ?? bytes).toBe(bytes)
        expect(epoch).toBeGreaterThanOrEqual(lastEpoch)
        seen.set(`${epoch}/${sequence}`, bytes)
        lastEpoch = epoch
        const isRejected =
          one.kind === "answer" && [CORRUPT, NOT_ENOUGH_REPLICAS, TOO_LARGE].includes(one.code)
        if (isRejected && !batch.isUncertain) seen.delete(`${epoch}/${sequence}`)
        if (one.kind === "answer") fixture.settle(batch, one.code, one.code === NONE ? offset : -1)
        if (one.kind === "answer" && one.code === NONE) offset += batch.records.length
        if (one.kind === "lost" || one.kind === "late") partition.lost(batch, fixture.nowMs)
        if (one.kind === "late") partition.expire((fixture.nowMs += 2000))
        if (one.kind === "cancel") fixture.topic.cancel()
        if (one.kind === "abandon") partition.abandon(batch, new TypeError("handled wrongly"))
        if (one.kind === "recreate")
          fixture.metadata(`cccccccc-0000-0000-0000-${String(ids++).padStart(12, "0")}`, 1)
        // what was in flight when it was cancelled comes back
        if (partition.batch?.isCancelled === true) partition.settle(batch, NOT_LEADER, -1, fixture.nowMs)
      }
    }),
  )
})
