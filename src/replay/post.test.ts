import { afterEach, expect, test } from "bun:test"
import type { StoredRecord } from "../brokers/broker.ts"
import type { Attempt, AttemptOptions } from "./attempt.ts"
import { urlTarget, type PostOptions } from "./post.ts"
import { toShownUrl } from "../outgoing/shown-url.ts"
import { headersOf, parseTargetUrl } from "./request-of-record.ts"

const record: StoredRecord = {
  topic: "payments",
  partition: 3,
  offset: 42,
  timestampMs: 1_795_000_000_123,
  key: Buffer.from("ключ%1"),
  value: Buffer.from('{"a":1}'),
  headers: [],
}

let server: Bun.Server<undefined> | undefined
let retries: (number | undefined)[] = []
afterEach(async () => {
  await server?.stop(true)
  retries = []
})

interface Seen {
  readonly headers: Headers
  readonly body: Buffer
}

/** A target that gives these answers, one after another. */
function target(...answers: (() => Response)[]): { url: URL; seen: Seen[] } {
  const seen: Seen[] = []
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      seen.push({ headers: request.headers, body: Buffer.from(await request.arrayBuffer()) })
      return answers[Math.min(seen.length, answers.length) - 1]!()
    },
  })
  return { url: new URL("/hook", server.url), seen }
}

const answer =
  (status: number, body: string | null = "", headers: { [name: string]: string } = {}) =>
  (): Response =>
    new Response(body, { status, headers })

const attempted = (_: StoredRecord, __: Attempt, retryInMs: number | undefined): void =>
  void retries.push(retryInMs)

/** What became of the record: its last attempt; undefined: none, since it was stopped. */
async function deliver(
  url: URL,
  record: StoredRecord,
  {
    refusals = 1,
    attempted,
    stop,
    ...options
  }: PostOptions & Pick<AttemptOptions, "attempted"> & { refusals?: number; stop?: AbortSignal } = {},
): Promise<Attempt | undefined> {
  let last: Attempt | undefined
  const target = urlTarget(url, {
    ...options,
    patience: { refusals },
    attempted(record, attempt, retryInMs) {
      last = attempt
      attempted?.(record, attempt, retryInMs)
    },
  })
  stop?.addEventListener("abort", () => target.stop())
  return (await target.send(record)) === "stopped" ? undefined : last
}

test("a record is posted with its value's bytes, where it is from, and its own headers", async () => {
  const { url, seen } = target(answer(204, null))
  const value = Buffer.from('{"received_at":"…"}')
  const headers = [
    ["traceparent", Buffer.from("00-1")],
    ["reason", Buffer.from("a\r\nb: ü")],
    ["reason", Buffer.from("c")],
    ["Host", Buffer.from("evil.example")],
    ["hookline-offset", Buffer.from("0")],
    ["no token", Buffer.from("x")],
    ["ce_id", Buffer.from("7é")],
    ["ce_type", Buffer.from('a "b" 1%')],
  ] as const
  expect(await deliver(url, { ...record, value, headers })).toMatchObject({
    outcome: "delivered",
    status: 204,
  })
  const [request] = seen
  expect(request!.body.equals(value)).toBe(true)
  expect(Object.fromEntries(request!.headers)).toMatchObject({
    "content-type": "application/json",
    "hookline-topic": "payments",
    "hookline-partition": "3",
    "hookline-offset": "42",
    "hookline-timestamp": "2026-11-18T11:06:40.123Z",
    "hookline-key": "%D0%BA%D0%BB%D1%8E%D1%87%1",
    traceparent: "00-1",
    reason: "a%0D%0Ab: \u00c3\u00bc, c",
    host: url.host,
    "ce-id": "7%C3%A9",
    "ce-type": "a%20%22b%22%201%25",
  })
})

test("the content type is the record's own, else what the value is", () => {
  const typeOf = (value: string, own?: string): string | null => {
    const headers = own === undefined ? [] : [["Content-Type", Buffer.from(own)] as const]
    return headersOf({ ...record, value: Buffer.from(value), headers }).get("content-type")
  }
  expect(typeOf("[1]")).toBe("application/json")
  expect(typeOf("a=b")).toBe("application/octet-stream")
  expect(typeOf("{}", "application/cloudevents+json")).toBe("application/cloudevents+json")
})

test.each([500, 408, 425, 429])("%d is tried again", async (status) => {
  const { url, seen } = target(answer(status), answer(200))
  expect(await deliver(url, record, { attempted })).toMatchObject({ outcome: "delivered" })
  expect(seen).toHaveLength(2)
})

test("an answer that is not HTTP is tried again", async () => {
  let answers = 0
  using listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.end(answers++ === 0 ? "garbage\r\n\r\n" : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      },
    },
  })
  const ended = await deliver(new URL(`http://127.0.0.1:${listener.port}/`), record, { attempted })
  expect(ended).toMatchObject({ outcome: "delivered" })
  expect(retries).toHaveLength(2)
})

test("pauses grow until the record is accepted", async () => {
  const { url } = target(answer(503), answer(503), answer(200))
  await deliver(url, record, { attempted })
  expect(retries[0]).toBeWithin(187, 251)
  expect(retries[1]).toBeWithin(375, 501)
  expect(retries[2]).toBeUndefined()
})

test.each([
  ["0", 250, 251],
  ["1", 1000, 1001],
  [() => new Date(Date.now() + 1500).toUTCString(), 250, 1501],
] as const)("Retry-After %p sets the pause", async (after, least, below) => {
  const header = typeof after === "string" ? after : after()
  const { url } = target(answer(503, "", { "retry-after": header }), answer(200))
  await deliver(url, record, { attempted })
  expect(retries[0]).toBeWithin(least, below)
})

test.each([
  [404, "no such route", "404: no such route"],
  [400, "", "400"],
  [302, "", "302: redirects are not followed"],
])("%d is final, with the reason", async (status, body, reason) => {
  const { url, seen } = target(answer(status, body, { location: "/elsewhere" }))
  expect(await deliver(url, record, { attempted })).toMatchObject({
    outcome: "refused",
    status,
    reason,
  })
  expect(seen).toHaveLength(1)
})

test("a record counts as refused once it was refused as often as is asked for", async () => {
  const { url, seen } = target(answer(404), answer(503), answer(400), answer(409, "no"), answer(200))
  expect(await deliver(url, record, { refusals: 3, attempted })).toMatchObject({
    outcome: "refused",
    reason: "409: no",
  })
  expect(seen).toHaveLength(4)
  expect(retries.map((ms) => ms !== undefined)).toEqual([true, true, true, false])
})

test("a record that was refused and is accepted later is delivered", async () => {
  const { url } = target(answer(404), answer(200))
  expect(await deliver(url, record, { refusals: 2 })).toMatchObject({ outcome: "delivered" })
})

test("a response that does not come in time is tried again, and an endless body is not read to its end", async () => {
  let calls = 0
  const endless = (): Response =>
    new Response(
      new ReadableStream({
        pull(controller) {
          controller.enqueue(Buffer.alloc(65_536))
        },
      }),
      { status: 400 },
    )
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => (++calls === 1 ? new Promise<Response>(() => {}) : endless()),
  })
  const reasons: string[] = []
  const ended = await deliver(server.url, record, {
    timeoutMs: 50,
    attempted: (_, attempt) => void (attempt.outcome === "unavailable" && reasons.push(attempt.reason)),
  })
  // on a slow machine the second one may be late, too
  expect([...new Set(reasons)]).toEqual(["no answer in time"])
  expect(ended).toMatchObject({ outcome: "refused", status: 400 })
})

test.each([200, 422])("a response %d whose body does not end counts by its status", async (status) => {
  let calls = 0
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            calls++
            controller.enqueue(Buffer.from("some"))
            await new Promise(() => {})
          },
        }),
        { status },
      ),
  })
  const ended = await deliver(server.url, record, { timeoutMs: 5000 })
  expect(ended).toMatchObject({ outcome: status === 200 ? "delivered" : "refused", status })
  expect(calls).toBe(1)
})

test("an aborted signal ends a pause and a request under way", async () => {
  const stop = new AbortController()
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      resolve()
      return new Promise<Response>(() => {})
    },
  })
  const ended = deliver(server.url, record, { stop: stop.signal, attempted })
  await asked
  stop.abort()
  expect(await ended).toBeUndefined()
  expect(retries).toEqual([])
})

test("a target is an http or https URL, and is shown without its secrets", () => {
  expect(toShownUrl(parseTargetUrl("https://user:pass@example.com:8443/in?token=x#y"))).toBe(
    "https://example.com:8443/in?…",
  )
  for (const wrong of ["example.com/in", "ftp://example.com", "file:///etc/passwd"])
    expect(() => parseTargetUrl(wrong)).toThrow(expect.objectContaining({ code: "usage" }))
})
