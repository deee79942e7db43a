import { describe, expect, test } from "bun:test"
import { Writable } from "node:stream"
import { pino } from "pino"
import { eventOf, IN_TIME } from "../../test/support/event.ts"
import { composePipeline } from "./compose.ts"
import type { Processor, Publisher } from "./event.ts"
import { Accepted, Answered, Dropped, Rejected, type Outcome } from "./outcome.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { RequestLog } from "../telemetry/request-log.ts"
import { Deadlines } from "../clock/deadlines.ts"

const accepts: Publisher = () => Promise.resolve(new Accepted({ partition: 0, offset: 0 }))
const pass: Processor = (event) => event

const compose = (
  processors: readonly Processor[],
  {
    publish = accepts,
    verifiedFrom,
    timeoutMs = 5000,
  }: { publish?: Publisher; verifiedFrom?: number | undefined; timeoutMs?: number } = {},
) => {
  const lines: string[] = []
  const stream = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line))
      done()
    },
  })
  const handler = composePipeline({
    pipeline: "p",
    processors,
    publish,
    verifiedFrom,
    deadlines: new Deadlines(timeoutMs),
    metrics: new Metrics().pipeline("p"),
    log: new RequestLog(pino({}, stream)),
    partsLog: pino({}, stream),
  })
  const { admit, outcomes, verifiesSenders, quickCheck } = handler
  return { handle: handler.handle.bind(handler), admit, outcomes, verifiesSenders, quickCheck, lines }
}

const fault = (): never => {
  throw new Error("obviously broken")
}

test.each<[string, Outcome["kind"] | undefined, Processor, Publisher]>([
  ["published", "accepted", pass, accepts],
  ["dropped after the step", "dropped", () => new Dropped("unwanted"), accepts],
  [
    "refused by the broker",
    "rejected",
    pass,
    () => Promise.resolve(new Rejected(503, "deadline", "Not in time.")),
  ],
  ["ended by a fault after the step", undefined, fault, accepts],
  ["ended by a fault after a wait", undefined, () => Promise.reject(new Error("obviously broken")), accepts],
  ["ended by a fault of the sink", undefined, pass, fault],
])("onSettled() is called once for an event that was %s", async (_what, kind, next, publish) => {
  const settled: unknown[] = []
  const step: Processor = (event) => {
    event.onSettled((outcome) => void settled.push(outcome?.kind))
    return event
  }
  await compose([step, next], { publish })
    .handle(eventOf("{}"))
    .catch((error: Error) => expect(error.message).toBe("obviously broken"))
  expect(settled).toEqual([kind])
})

test("the sender is answered when what onSettled() was given has ended", async () => {
  const { promise: written, resolve: write } = Promise.withResolvers<void>()
  const order: string[] = []
  const step: Processor = (event) => {
    event.onSettled(async () => {
      await written
      order.push("written")
    })
    return event
  }
  const answered = compose([step])
    .handle(eventOf("{}"))
    .then(() => order.push("answered"))
  setImmediate(write)
  await answered
  expect(order).toEqual(["written", "answered"])
})

test("a fault in onSettled() changes nothing for the sender and for other steps, and is logged", async () => {
  const settled: string[] = []
  const step =
    (name: string, then: () => void | Promise<void>): Processor =>
    (event) => {
      event.onSettled(() => {
        settled.push(name)
        return then()
      })
      return event
    }
  const late = () => Promise.reject(new Error("broken later"))
  const { handle, lines } = compose([step("first", fault), step("second", late), step("third", () => {})])
  expect((await handle(eventOf("{}"))).kind).toBe("accepted")
  expect(settled).toEqual(["first", "second", "third"])
  expect(lines.join("")).toContain("obviously broken")
  expect(lines.join("")).toContain("broken later")
})

test.each<[string, number | undefined, (boolean | undefined)[], boolean]>([
  ["nothing verifies", undefined, [undefined, undefined], false],
  ["the source verifies", 0, [true, true], false],
  ["the first step verifies", 1, [undefined, true], true],
])(
  "where %s, steps see whether the sender is verified",
  async (_what, verifiedFrom, seen, verifiesSenders) => {
    const found: (boolean | undefined)[] = []
    const look: Processor = (event) => {
      found.push(event.request.isVerified)
      return event
    }
    const handler = compose([look, look], { verifiedFrom })
    await handler.handle(eventOf("{}"))
    expect(found).toEqual(seen)
    expect(handler.verifiesSenders).toBe(verifiesSenders)
  },
)

const checking = (quickCheck: Processor["quickCheck"]): Processor =>
  Object.assign<Processor, Partial<Processor>>((event) => event, { quickCheck })
const byBody = { needsBody: true, isSigned: (headers: Headers) => headers.has("X-Signature") }
const byHeaders = { needsBody: false, isSigned: (headers: Headers) => headers.has("X-Token") }

test.each<[string, number | undefined, readonly Processor[], boolean | undefined]>([
  ["nothing verifies", undefined, [checking(byBody)], undefined],
  ["the source verifies", 0, [checking(byBody)], undefined],
  ["one verifies quickly", 1, [checking(byHeaders), pass], false],
  ["another one that verifies does not do so quickly", 2, [checking(byHeaders), pass], undefined],
  ["two verify quickly", 2, [checking(byHeaders), checking(byBody), pass], true],
])("where %s, a quick check needs the body: %p", (_what, verifiedFrom, processors, needsBody) => {
  expect(compose(processors, { verifiedFrom }).quickCheck?.needsBody).toBe(needsBody)
})

test("a request may pass a quick check that has what each of the verifying steps looks for", () => {
  const { quickCheck } = compose([checking(byHeaders), checking(byBody)], { verifiedFrom: 2 })
  const isSigned = (headers: Record<string, string>) => quickCheck?.isSigned(new Headers(headers))
  expect([isSigned({ "X-Token": "t" }), isSigned({ "X-Token": "t", "X-Signature": "s" })]).toEqual([
    false,
    true,
  ])
})

test("a refusal of the verified sender ends the event there, also after the last step", async () => {
  const limited = new Rejected(429, "rate_limited", "Later.")
  const { handle } = compose([pass], { verifiedFrom: 1, publish: fault })
  expect(await handle(eventOf("{}"), { whenVerified: () => limited })).toBe(limited)
  const { handle: unverified } = compose([() => new Dropped("unwanted")], { verifiedFrom: 1 })
  expect((await unverified(eventOf("{}"), { whenVerified: fault })).kind).toBe("dropped")
})

test("the first step with something to say before the body ends the request", async () => {
  const admit = (answer?: Answered) =>
    Object.assign<Processor, Pick<Processor, "admit">>((it) => it, { admit: () => Promise.resolve(answer) })
  const handshake = new Answered("handshake")
  const { request } = eventOf("{}")
  expect(await compose([admit(), admit(handshake), admit(new Answered("never"))]).admit!(request)).toBe(
    handshake,
  )
  expect(await compose([admit(), admit()]).admit!(request)).toBeUndefined()
  expect(compose([pass]).admit).toBeUndefined()
})

test("a processor that returns another event, or nothing, is a fault", async () => {
  await expect(compose([() => eventOf("{}")]).handle(eventOf("{}"))).rejects.toThrow(
    "neither its event nor an outcome",
  )
  await expect(compose([() => undefined as never]).handle(eventOf("{}"))).rejects.toThrow("neither its event")
})

test("an event that waits at the sink holds one body: the received one is let go", async () => {
  const received = new TextEncoder().encode('{"id":1}')
  const enriched = new TextEncoder().encode('{"id":1,"source":"webhook"}')
  const bodies: Uint8Array[] = []
  const enrich: Processor = (event) => {
    bodies.push(event.receivedBody)
    event.body = enriched
    return event
  }
  const publish: Publisher = (event) => {
    bodies.push(event.receivedBody, event.body)
    return accepts(event, IN_TIME)
  }
  await compose([enrich], { publish }).handle(eventOf(received))
  expect(bodies).toEqual([received, enriched, enriched])
})

describe("what a user's part does wrong", () => {
  const never = new Promise<never>(() => {})

  test.each<[string, { processors: readonly Processor[]; publish?: Publisher }, string]>([
    [
      "processor",
      {
        processors: [
          pass,
          async function lookUp() {
            return never
          },
        ],
      },
      "processor 2 (lookUp)",
    ],
    ["sink", { processors: [], publish: () => never }, "the sink"],
  ])("a %s that never resolves is answered 503 at the deadline", async (_, { processors, publish }, who) => {
    const { handle } = compose(processors, { timeoutMs: 50, ...(publish && { publish }) })
    expect(await handle(eventOf("{}"))).toMatchObject({
      kind: "rejected",
      status: 503,
      reason: "deadline",
      logDetail: `${who} did not end within delivery_timeout`,
    })
  })

  test("a processor's signal aborts at the deadline, and what it rejects with then is no fault", async () => {
    let reason: unknown
    const { handle } = compose(
      [
        (_, { signal }) => {
          const { promise, reject } = Promise.withResolvers<never>()
          signal.addEventListener("abort", () => reject((reason = signal.reason)))
          return promise
        },
      ],
      { timeoutMs: 50 },
    )
    expect(await handle(eventOf("{}"))).toMatchObject({ status: 503, reason: "deadline" })
    expect(reason).toMatchObject({ name: "TimeoutError" })
  })

  test("text as the body is published as UTF-8; anything else is a fault that says what to set", async () => {
    const published: string[] = []
    const publish: Publisher = (event) => {
      published.push(Buffer.from(event.body).toString())
      return accepts(event, IN_TIME)
    }
    const sets = (body: unknown): Processor[] => [
      (event) => {
        event.body = body as string
        return event
      },
    ]
    expect((await compose(sets('{"é":1}'), { publish }).handle(eventOf("{}"))).kind).toBe("accepted")
    expect(published).toEqual(['{"é":1}'])
    for (const body of [{ a: 1 }, null, 5, undefined])
      await expect(compose(sets(body), { publish }).handle(eventOf("{}"))).rejects.toThrow(
        /^event\.body is [\w ]+: it must be bytes \(Uint8Array\), or text/,
      )
    expect(published).toHaveLength(1)
  })

  test.each(["a b/..", "", "..", "x".repeat(250), 7 as never])(
    "a topic that no broker takes, %p, is a fault of the step that set it",
    async (topic) => {
      const { handle } = compose([(event) => Object.assign(event, { topic })])
      await expect(handle(eventOf("{}"))).rejects.toThrow(
        /^event\.topic was set to .*, which is not a topic name: 1 to/,
      )
    },
  )

  test.each([200, 204, 302, 399, 600, Number.NaN])("a refusal with status %p is a fault", async (status) => {
    const { handle } = compose([() => new Rejected(status, "no", "No.")])
    await expect(handle(eventOf("{}"))).rejects.toThrow("its status is 400 to 599")
  })
})
