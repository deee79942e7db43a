import { expect, test } from "bun:test"
import { Writable } from "node:stream"
import { pino } from "pino"
import { Accepted, Dropped, Rejected, type Event, type Processor, type Publisher } from "./event.ts"
import { composePipeline } from "./pipeline.ts"
import { steadyMs } from "./steady-clock.ts"
import { Metrics } from "./telemetry/metrics.ts"
import { RequestLog } from "./telemetry/request-log.ts"

const accepts: Publisher = () => Promise.resolve(new Accepted({ partition: 0, offset: 0 }))
const pass: Processor = (event) => event

const compose = (processors: readonly Processor[], publish = accepts) => {
  const lines: string[] = []
  const stream = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line))
      done()
    },
  })
  const { handle } = composePipeline({
    pipeline: "p",
    processors,
    publish,
    metrics: new Metrics().pipeline("p"),
    log: new RequestLog(pino({}, stream)),
  })
  return { handle, lines }
}

const event = (): Event => ({
  body: Buffer.from("{}"),
  receivedAtMs: Date.now(),
  arrivedMs: steadyMs(),
  request: {
    method: "POST",
    path: "/",
    query: "",
    url: "http://localhost/",
    headers: new Headers(),
    remoteAddress: "127.0.0.1",
  },
})

const fault = (): never => {
  throw new Error("obviously broken")
}

test.each<[string, boolean, Processor, Publisher]>([
  ["published", true, pass, accepts],
  ["dropped behind the step", false, () => new Dropped("unwanted"), accepts],
  [
    "refused by the broker",
    false,
    pass,
    () => Promise.resolve(new Rejected(503, "deadline", "Not in time.")),
  ],
  ["ended by a fault behind the step", false, fault, accepts],
  ["ended by a fault behind a wait", false, () => Promise.reject(new Error("obviously broken")), accepts],
  ["ended by a fault of the sink", false, pass, fault],
])("a step is told once of an event that was %s", async (_what, published, next, publish) => {
  const told: boolean[] = []
  const step = Object.assign<Processor, Pick<Processor, "settled">>((it) => it, {
    settled: (request, published) => void (request === sent.request && told.push(published)),
  })
  const sent = event()
  await compose([step, next], publish)
    .handle(sent)
    .catch((error: Error) => expect(error.message).toBe("obviously broken"))
  expect(told).toEqual([published])
})

test("the sender is answered when what a step does at the end is done", async () => {
  const { promise: written, resolve: write } = Promise.withResolvers<void>()
  const order: string[] = []
  const step = Object.assign<Processor, Pick<Processor, "settled">>((it) => it, {
    settled: async () => {
      await written
      order.push("written")
    },
  })
  const answered = compose([step])
    .handle(event())
    .then(() => order.push("answered"))
  setImmediate(write)
  await answered
  expect(order).toEqual(["written", "answered"])
})

test("a fault of a step that is told changes nothing for the sender and for the other steps, and is logged", async () => {
  const told: string[] = []
  const step = (name: string, settled: () => void): Processor =>
    Object.assign<Processor, Pick<Processor, "settled">>((it) => it, {
      settled() {
        told.push(name)
        settled()
      },
    })
  const { handle, lines } = compose([step("first", fault), step("second", () => {})])
  expect((await handle(event())).kind).toBe("accepted")
  expect(told).toEqual(["first", "second"])
  expect(lines.join("")).toContain("obviously broken")
})
