import { afterEach, expect, test } from "bun:test"
import { MemoryLog } from "../../brokers/memory/log.ts"
import { HooklineError } from "../../errors.ts"
import { Forwarding, type Forwarded } from "./forwarding.ts"

const log = (): MemoryLog => new MemoryLog()
const publish = (to: MemoryLog, topic: string, n: number) =>
  to.publish({
    topic,
    key: undefined,
    value: Buffer.from(`{"n":${n}}`),
    headers: undefined,
    dedupeKey: undefined,
  })

let server: Bun.Server<undefined> | undefined
let forwarding: Forwarding | undefined
afterEach(async () => {
  await forwarding?.close()
  await server?.stop(true)
})

/** Forwards a log to a target that answers each body with a status; `take(n)` resolves after n bodies. */
function start(from: MemoryLog, statusOf: (body: string, times: number) => number, sinceMs = 0) {
  const bodies: string[] = []
  const results: Forwarded[] = []
  const failures: unknown[] = []
  let changed = Promise.withResolvers<void>()
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.text()
      bodies.push(body)
      return new Response("why", { status: statusOf(body, bodies.filter((it) => it === body).length) })
    },
  })
  forwarding = new Forwarding({
    target: new URL("/in?token=secret", server.url),
    openReader: async () => from,
    sinceMs,
    onResult: (it) => {
      results.push(it)
      changed.resolve()
      changed = Promise.withResolvers()
    },
    failed: (error) => failures.push(error),
  })
  const after = async (count: number): Promise<void> => {
    while (results.length < count) await changed.promise
  }
  return { bodies, results, failures, after }
}

test("records are posted in order, one that fails before those after it, reported twice", async () => {
  const from = log()
  const { bodies, results, after } = start(from, (body, times) =>
    body === '{"n":1}' && times < 3 ? 503 : 200,
  )
  forwarding!.follow("log", "a")
  for (let n = 0; n < 3; n++) await publish(from, "a", n)
  await after(4)
  expect(bodies).toEqual(['{"n":0}', '{"n":1}', '{"n":1}', '{"n":1}', '{"n":2}'])
  expect(results.map(({ place, isAccepted }) => [place, isAccepted])).toEqual([
    ["a[0]@0", true],
    ["a[0]@1", false],
    ["a[0]@1", true],
    ["a[0]@2", true],
  ])
  expect(results[0]!.text).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/in\?… 200 in \d+ ms$/)
  expect(results[1]!.text).toEndWith(" 503: why; retrying")
  expect([forwarding!.delivered, forwarding!.refused]).toEqual([3, 0])
})

test("one that the target refuses is not posted again, and the next one is", async () => {
  const from = log()
  const { bodies, results, after } = start(from, (body) => (body === '{"n":0}' ? 422 : 204))
  forwarding!.follow("log", "a")
  await publish(from, "a", 0)
  await publish(from, "a", 1)
  await after(2)
  expect(bodies).toEqual(['{"n":0}', '{"n":1}'])
  expect(results[0]!.text).toEndWith(" refused it: 422: why")
  expect([forwarding!.delivered, forwarding!.refused]).toEqual([1, 1])
})

test("a topic is followed once, waited for, and forwarded from the beginning of the session", async () => {
  const from = log()
  await from.publish({
    topic: "old",
    key: undefined,
    value: Buffer.from("{}"),
    headers: undefined,
    dedupeKey: undefined,
    timestampMs: 1,
  })
  const { bodies, after } = start(from, () => 200, Date.now() - 1000)
  for (const topic of ["old", "new", "new"]) forwarding!.follow("log", topic)
  await publish(from, "new", 1)
  await after(1)
  await publish(from, "old", 2)
  await after(2)
  expect(bodies.toSorted()).toEqual(['{"n":1}', '{"n":2}'])
})

test("a log that can't be read is reported, and close ends what waits", async () => {
  const failures: unknown[] = []
  const broken = new HooklineError("no_input", "it is no database")
  forwarding = new Forwarding({
    target: new URL("http://localhost:1/"),
    openReader: (connection) =>
      Promise.reject(connection === "broken" ? broken : new HooklineError("no_log", "not yet")),
    sinceMs: 0,
    onResult: () => {},
    failed: (error) => failures.push(error),
  })
  forwarding.follow("broken", "a")
  forwarding.follow("missing", "a")
  await forwarding.close()
  expect(failures).toEqual([broken])
})
