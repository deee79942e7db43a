import { describe, expect, test } from "bun:test"
import { placeOf, started } from "../../../test/support/kafka-topic.ts"
import type { PublishError } from "../../errors.ts"

const NONE = 0
const [NOT_LEADER, CORRUPT, OUT_OF_ORDER, DUPLICATE, INVALID_REQUEST] = [6, 2, 45, 46, 42]

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
