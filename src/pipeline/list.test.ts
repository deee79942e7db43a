import { expect, test } from "bun:test"
import { pino } from "pino"
import { eventOf } from "../../test/support/event.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { RequestLog } from "../telemetry/request-log.ts"
import { composePipeline } from "./compose.ts"
import type { Event, Processor, Publisher } from "./event.ts"
import { Accepted, Dropped, Rejected, type Outcome } from "./outcome.ts"
import { unavailable } from "./service-unavailable.ts"
import { Deadlines } from "../clock/deadlines.ts"

const splits: Processor = (event) =>
  event.split((event.json() as unknown[]).map((it) => Buffer.from(JSON.stringify(it))))
const text = ({ body }: Event): string => Buffer.from(body).toString()
const accepted = new Accepted({ partition: 0, offset: 0 })

/** Runs a list through processors; `log` has what happened to its items, in order. */
async function run(
  items: readonly unknown[],
  processors: readonly Processor[],
  publish: (event: Event) => Promise<Accepted | Rejected> = () => Promise.resolve(accepted),
  verifiedFrom = 0,
) {
  const log: string[] = []
  const letters: { body: string; detail: string | undefined }[] = []
  const metrics = new Metrics()
  const watch: Processor = (event) => {
    event.onSettled((outcome) => void log.push(`settled ${text(event)} ${kindOf(outcome)}`))
    return event
  }
  const publisher: Publisher = Object.assign(
    (event: Event) => {
      log.push(`published ${text(event)}`)
      return publish(event)
    },
    {
      deadLetter: ({ receivedBody }: Event, { detail }: Rejected | Dropped) => {
        letters.push({ body: Buffer.from(receivedBody).toString(), detail })
        return Promise.resolve(accepted)
      },
    },
  )
  const handler = composePipeline({
    pipeline: "p",
    processors: [splits, watch, ...processors],
    publish: publisher,
    verifiedFrom,
    deadlines: new Deadlines(5000),
    metrics: metrics.pipeline("p"),
    log: new RequestLog(pino({ level: "silent" })),
    partsLog: pino({ level: "silent" }),
  })
  const list = eventOf(JSON.stringify(items))
  const settled: (string | undefined)[] = []
  list.onSettled((outcome) => void settled.push(kindOf(outcome)))
  const outcome = await handler.handle(list).catch((error: Error) => error)
  return { outcome, log, letters, settled, list }
}
const kindOf = (outcome: Outcome | undefined): string | undefined =>
  outcome?.kind === "rejected" ? String(outcome.status) : outcome?.kind

const only =
  (item: unknown, then: Processor): Processor =>
  (event, context) =>
    text(event) === JSON.stringify(item) ? then(event, context) : event

test("items are checked first, then published in the list's order, then settled with their own outcome", async () => {
  const judged: string[] = []
  const later: Processor = async (event) => {
    await Promise.resolve()
    judged.push(text(event))
    return event
  }
  const { outcome, log, settled } = await run([1, 2, 3], [later], (event) => {
    expect(judged).toEqual(["1", "2", "3"])
    return Promise.resolve(text(event) === "2" ? unavailable("deadline") : accepted)
  })
  expect(outcome).toMatchObject({ kind: "rejected", status: 503, reason: "deadline" })
  expect(log).toEqual([
    "published 1",
    "published 2",
    "published 3",
    "settled 1 accepted",
    "settled 2 503",
    "settled 3 accepted",
  ])
  expect(settled).toEqual(["503"])
})

test("the list is accepted when the last acknowledgement has come", async () => {
  const { promise, resolve } = Promise.withResolvers<Accepted>()
  const order: string[] = []
  setImmediate(() => {
    order.push("acknowledged")
    resolve(accepted)
  })
  const { outcome } = await run([1, 2], [], (event) =>
    text(event) === "1" ? promise : Promise.resolve(accepted),
  ).finally(() => order.push("answered"))
  expect([outcome, order]).toEqual([accepted, ["acknowledged", "answered"]])
})

test("an item that is refused refuses the list with its index, and nothing is published", async () => {
  const reject = only("b", () => new Rejected(400, "invalid_json", "No.", { logDetail: "because" }))
  const { outcome, log, letters } = await run(["a", "b", "c"], [reject])
  expect(outcome).toEqual(
    new Rejected(400, "invalid_json", "Item 1 of the list: No.", {
      logDetail: "Item 1 of the list: because",
    }),
  )
  // the third was never checked
  expect(log).toEqual(['settled "a" 400', 'settled "b" 400'])
  expect(letters).toEqual([{ body: '["a","b","c"]', detail: "Item 1 of the list: No." }])
})

test("items that are dropped end alone, at once; a dead letter of the list is kept once", async () => {
  const drop: Processor = (event) =>
    text(event) === "0" ? event : new Dropped("invalid_json", "no", { isInvalid: true })
  const { outcome, log, letters } = await run([1, 0, 2], [drop])
  expect(outcome).toBe(accepted)
  expect(log).toEqual(["settled 1 dropped", "settled 2 dropped", "published 0", "settled 0 accepted"])
  expect(letters).toEqual([{ body: "[1,0,2]", detail: "Item 0 of the list: no" }])
})

test.each<[string, unknown[], string, string]>([
  ["without items", [], "empty_list", "a list without items"],
  ["whose items are all dropped", [1, 2], "unwanted", "Item 0 of the list: dropped"],
])("a list %s is dropped", async (_what, items, reason, detail) => {
  const { outcome, log } = await run(items, [() => new Dropped("unwanted")])
  expect(outcome).toMatchObject({ kind: "dropped", reason, detail })
  expect(log.filter((it) => it.startsWith("published"))).toEqual([])
})

test("of several refusals of the broker the answer is a 503, which is retried, before one of a single item", async () => {
  const tooLarge = new Rejected(413, "record_too_large", "Too large.")
  const publish = (event: Event) =>
    Promise.resolve(text(event) === "1" ? tooLarge : unavailable("unavailable"))
  expect((await run([1, 2], [], publish)).outcome).toMatchObject({ status: 503 })
  expect((await run([2, 1], [], publish)).outcome).toMatchObject({ status: 503 })
  expect((await run([1], [], publish)).outcome).toMatchObject({
    status: 413,
    detail: "Item 0 of the list: Too large.",
  })
})

test("a fault of one item is the list's, after all others have ended", async () => {
  const { outcome, log, settled } = await run([1, 2], [], (event) => {
    if (text(event) === "1") throw new Error("obviously broken")
    return Promise.resolve(accepted)
  })
  expect(outcome).toEqual(new Error("obviously broken"))
  expect(log).toEqual(["published 1", "published 2", "settled 1 undefined", "settled 2 accepted"])
  expect(settled).toEqual([undefined])
})

test.each<[string, Processor]>([
  ["split again", (event) => event.split([event.body])],
  ["returned nothing", () => undefined as never],
  ["returned another event", () => eventOf("{}")],
])("a processor that %s for an item is a fault", async (_what, processor) => {
  const { outcome, log } = await run([1], [processor])
  expect(outcome).toMatchObject({ code: "internal" })
  expect(log).toEqual(["settled 1 undefined"])
})

test("a list that is split before its sender is verified is a fault", async () => {
  const { outcome, log } = await run([1], [], undefined, 1)
  expect([outcome, log]).toEqual([expect.objectContaining({ code: "internal" }), []])
})

test("while the items wait at the sink the list's body is let go", async () => {
  let kept: Uint8Array | undefined
  const { list } = await run([1], [], (event) => {
    kept = event.receivedBody
    return Promise.resolve(accepted)
  })
  expect([Buffer.from(kept!).toString(), list.body.length, list.receivedBody.length]).toEqual(["1", 0, 0])
})
