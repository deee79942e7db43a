import { expect, test } from "bun:test"
import { closeSync } from "node:fs"
import { pino } from "pino"
import type { Broker } from "../brokers/broker.ts"
import { PublishError } from "../errors.ts"
import type { Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import { ScriptedBroker } from "../../test/support/scripted-broker.ts"
import { socketPair } from "../../test/support/socket-pair.ts"
import { Channel } from "./channel.ts"
import { Hosting } from "./hosting.ts"

interface Ends {
  readonly channel: Channel
  readonly hosting: Hosting
  readonly passedOn: Buffer[]
}

/** A worker's end and the supervisor's, which has the brokers of these numbers. */
async function connect(brokers: { readonly [number: number]: Broker }): Promise<Ends> {
  const [worker, supervisor] = socketPair()
  const passedOn: Buffer[] = []
  const hosting = await Hosting.open(supervisor, {
    broker: (number) => brokers[number],
    passOn: (frame) => passedOn.push(frame),
    log: pino({ level: "silent" }),
  })
  const channel = await Channel.open(worker)
  channel.maxBytes = 2 ** 30
  return { channel, hosting, passedOn }
}

const later = (ms = 60_000): number => steadyMs() + ms
const record = (n: number, bytes = 0): Record => {
  return { topic: "t", key: Buffer.from(`k${n}`), value: Buffer.alloc(bytes, n % 251) }
}

test("records are published in their order, and each is answered with its receipt", async () => {
  const broker = new ScriptedBroker()
  const { channel, hosting } = await connect({ 7: broker })
  const remote = channel.broker(7)
  const receipts = await Promise.all([0, 1, 2, 3].map((n) => remote.publish(record(n, 10), later())))
  expect(receipts).toEqual([0, 1, 2, 3].map((offset) => ({ partition: 0, offset })))
  expect(broker.log.map(({ key }) => String(key))).toEqual(["k0", "k1", "k2", "k3"])
  hosting.close()
})

test("a flood of more than sockets hold arrives byte for byte", async () => {
  const broker = new ScriptedBroker()
  const { channel, hosting } = await connect({ 1: broker })
  const remote = channel.broker(1)
  const sent = Array.from({ length: 500 }, (_, n) => record(n, (n * 7919) % 100_000))
  await Promise.all(sent.map((one) => remote.publish(one, later())))
  expect(broker.log.length).toBe(sent.length)
  expect(broker.log.findIndex((it, at) => !Buffer.from(it.value).equals(sent[at]!.value as Buffer))).toBe(-1)
  hosting.close()
})

test("why a record was not acknowledged is told with its code", async () => {
  const broker = new ScriptedBroker()
  broker.refuses = ({ key }) =>
    String(key) === "k1" ? new PublishError("record_too_large", "a record of k1 is too large") : undefined
  const { channel, hosting } = await connect({ 1: broker })
  const [taken, refused, gone] = await Promise.allSettled([
    channel.broker(1).publish(record(0), later()),
    channel.broker(1).publish(record(1), later()),
    channel.broker(2).publish(record(2), later()),
  ])
  expect(taken.status).toBe("fulfilled")
  const reason = (it: PromiseSettledResult<unknown>): unknown => (it as PromiseRejectedResult).reason
  expect(reason(refused)).toBeInstanceOf(PublishError)
  expect(reason(refused)).toMatchObject({ code: "record_too_large", message: "a record of k1 is too large" })
  expect(reason(gone)).toMatchObject({ code: "closing" })
  hosting.close()
})

test("the deadline is that of the worker's clock on both sides", async () => {
  const broker = new ScriptedBroker("stalled")
  const { channel, hosting } = await connect({ 1: broker })
  const startedMs = steadyMs()
  await expect(channel.broker(1).publish(record(0), later(50))).rejects.toMatchObject({ code: "deadline" })
  expect(steadyMs() - startedMs).toBeGreaterThanOrEqual(45)
  while (broker.pending > 0) await Bun.sleep(1)
  hosting.close()
})

test("while the supervisor stands still deadlines are kept, and no more waits than may", async () => {
  const [worker, supervisor] = socketPair()
  const channel = await Channel.open(worker)
  channel.maxBytes = 1_000_000
  const remote = channel.broker(1)
  const publish = (): Promise<unknown> =>
    remote.publish(record(0, 400_000), later(30)).catch((error: PublishError) => error.code)
  expect(await Promise.all([publish(), publish(), publish()])).toEqual([
    "deadline",
    "deadline",
    "unavailable",
  ])
  // those that are late are on their way all the same
  expect(await publish()).toBe("unavailable")
  closeSync(supervisor)
})

test("when the supervisor ends, all that waits is refused, and all that comes", async () => {
  const broker = new ScriptedBroker("stalled")
  const { channel, hosting } = await connect({ 1: broker })
  const remote = channel.broker(1)
  expect(remote.ready()).toBe(true)
  const waiting = remote.publish(record(0), later())
  while (broker.pending === 0) await Bun.sleep(1)
  hosting.close()
  await expect(waiting).rejects.toMatchObject({ code: "unavailable" })
  await expect(remote.publish(record(1), later())).rejects.toMatchObject({ code: "unavailable" })
  expect(remote.ready()).toBeString()
})

test("closing a broker waits for what was published to it, not to others, and takes nothing more", async () => {
  const [stalled, other] = [new ScriptedBroker("stalled"), new ScriptedBroker("stalled")]
  const { channel, hosting } = await connect({ 1: stalled, 2: other })
  const remote = channel.broker(1)
  const waiting = remote.publish(record(0), later())
  void channel
    .broker(2)
    .publish(record(0), later())
    .catch(() => {})
  const closed = remote.close().then(() => "closed")
  await expect(remote.publish(record(1), later())).rejects.toMatchObject({ code: "closing" })
  expect(await Promise.race([closed, Promise.resolve("waits")])).toBe("waits")
  stalled.state = "up"
  expect(await waiting).toEqual({ partition: 0, offset: 0 })
  expect(await closed).toBe("closed")
  // the broker itself is the supervisor's to close
  expect(await channel.broker(1).publish(record(2), later())).toEqual({ partition: 0, offset: 1 })
  hosting.close()
})

test("what a worker remembers is passed on, and heard by those of its name", async () => {
  const { channel, hosting, passedOn } = await connect({})
  const [heard, others] = [[], []] as [unknown[], unknown[]]
  const joined = channel.join("ids", (...told) => heard.push(told))
  channel.join("other ids", (...told) => others.push(told))
  joined.tell("a", 1)
  joined.tell("b", 2)
  while (passedOn.length === 0) await Bun.sleep(1)
  expect(heard).toEqual([])
  hosting.send(passedOn[0]!)
  while (heard.length < 2) await Bun.sleep(1)
  expect([heard, others, passedOn.length]).toEqual([
    [
      ["a", 1],
      ["b", 2],
    ],
    [],
    1,
  ])
  hosting.close()
})
