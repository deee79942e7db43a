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

/** Forwards a log to a target that accepts each body; `after(n)` resolves after n of them. */
function start(from: MemoryLog, sinceMs: number) {
  const bodies: string[] = []
  const results: Forwarded[] = []
  let changed = Promise.withResolvers<void>()
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      bodies.push(await request.text())
      return new Response()
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
    failed: (error) => expect.unreachable(String(error)),
  })
  const after = async (count: number): Promise<void> => {
    while (results.length < count) await changed.promise
  }
  return { bodies, after }
}

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
  const { bodies, after } = start(from, Date.now() - 1000)
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
