import { beforeEach, expect, test } from "bun:test"
import { PublishError } from "../errors.ts"
import type { Receipt } from "../pipeline/record.ts"
import { steadyMs } from "../clock/clock.ts"
import { BatchPublisher, type CommitAnswer } from "./batch-publisher.ts"

const FAILED = { kind: "failed", reason: "the disk is gone" } as const

/** Batches as the database gets them, each with what answers it. */
let batches: { texts: string[]; answer: (answer: CommitAnswer) => void }[]
let failure: typeof FAILED | undefined
let publisher: BatchPublisher
let next: PromiseWithResolvers<void>
beforeEach(() => {
  batches = []
  failure = undefined
  next = Promise.withResolvers()
  publisher = new BatchPublisher({
    title: "The log",
    batchBytes: 100,
    commit(records, answer) {
      batches.push({ texts: records.map(({ record }) => Buffer.from(record.value).toString()), answer })
      next.resolve()
      next = Promise.withResolvers()
    },
    failure: () => failure,
  })
})

const publish = (text: string, ms = 5000): Promise<Receipt> =>
  publisher.publish({ topic: "t", value: Buffer.from(text) }, steadyMs() + ms)
function done(at: number): void {
  const { texts, answer } = batches[at]!
  answer({ kind: "done", value: { offsets: texts.map((_, n) => n), ms: 1 } })
}

test("what comes while a batch is committed is the next one", async () => {
  const first = publish("a")
  await next.promise
  const others = ["b", "c"].map((text) => publish(text))
  expect(batches).toHaveLength(1)
  done(0)
  await next.promise
  done(1)
  expect(await Promise.all([first, ...others])).toMatchObject([{ offset: 0 }, { offset: 0 }, { offset: 1 }])
  expect(batches.map(({ texts }) => texts)).toEqual([["a"], ["b", "c"]])
})

test("a batch that finds the database busy is formed again, with what came meanwhile after it", async () => {
  const first = publish("a")
  await next.promise
  const second = publish("b")
  batches[0]!.answer({ kind: "busy" })
  await next.promise
  expect(batches[1]!.texts).toEqual(["a", "b"])
  done(1)
  await Promise.all([first, second])
})

test("a record is refused at its deadline, in the queue and in the database; one that waits then is never published", async () => {
  const inThread = publish("a", 30)
  await next.promise
  const queued = publish("b", 30)
  const patient = publish("c")
  const refused = await Promise.allSettled([inThread, queued])
  expect(refused).toMatchObject([{ reason: { code: "deadline" } }, { reason: { code: "deadline" } }])
  done(0)
  await next.promise
  expect(batches[1]!.texts).toEqual(["c"])
  done(1)
  await patient
})

test("a failure refuses the batch, what waits and what comes, until it is over", async () => {
  const first = publish("a")
  await next.promise
  const second = publish("b")
  failure = FAILED
  publisher.rejectAll(FAILED)
  batches[0]!.answer(FAILED)
  const reason = new PublishError("unavailable", "the disk is gone")
  const refused = { status: "rejected" as const, reason }
  expect(await Promise.allSettled([first, second, publish("c")])).toEqual([refused, refused, refused])
  failure = undefined
  const after = publish("d")
  await next.promise
  done(1)
  expect(await after).toEqual({ partition: 0, offset: 0 })
})

test("close waits for what was accepted, but not for a disk that answers nobody in time", async () => {
  const first = publish("a", 40)
  await next.promise
  const closed = publisher.close()
  await expect(publish("late")).rejects.toMatchObject({ code: "closing" })
  await expect(first).rejects.toMatchObject({ code: "deadline" })
  await closed
})

test("close of an idle publisher, and of one whose records are past their deadlines, ends at once", async () => {
  const late = publish("a", 10)
  await next.promise
  await expect(late).rejects.toMatchObject({ code: "deadline" })
  await publisher.close()
})
