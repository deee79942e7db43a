import { expect, spyOn, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { steadyMs } from "../../src/clock/clock.ts"
import { Accepted } from "../../src/pipeline/outcome.ts"
import { HANG_MS } from "../support/hang.ts"
import { inChunks, serve, type GivenRoute } from "../support/http-server.ts"
import { openSocket, post } from "../support/http-socket.ts"

const accepted = new Accepted({ partition: 0, offset: 0 })

/** A handler whose events wait until they are let go. */
function gate(): { handle: () => Promise<Accepted>; entered: Promise<void>; open: () => void } {
  const entered = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return {
    handle: async () => {
      entered.resolve()
      await opened.promise
      return accepted
    },
    entered: entered.promise,
    open: opened.resolve,
  }
}

const send = (url: string, body: string | ReadableStream): Promise<Response> =>
  fetch(`${url}/webhook`, { method: "POST", body })

/** A server of whose in-flight budget an event holds bytes until it is let go. */
async function serveHolding(bytes: number, maxInFlightBytes: number, route: GivenRoute = {}) {
  const { handle, entered, open } = gate()
  const it = serve({ handle, ...route }, { maxInFlightBytes })
  const first = send(it.url, "x".repeat(bytes))
  await entered
  return { ...it, first, open }
}

test("a full in-flight budget is answered 503 with Retry-After until an answer frees it", async () => {
  await using it = await serveHolding(600, 1000)
  expect(it.servers.inFlight()).toEqual({ requests: 1, bytes: 600 })
  for (const body of ["x".repeat(401), inChunks(["x".repeat(401)])]) {
    const answer = await send(it.url, body)
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"])
  }
  const fits = send(it.url, "x".repeat(400))
  it.open()
  expect([(await it.first).status, (await fits).status]).toEqual([200, 200])
  expect((await send(it.url, "x".repeat(401))).status).toBe(200)
  expect(it.servers.inFlight()).toEqual({ requests: 0, bytes: 0 })
  expect(it.log.map(({ reason }) => reason)).toEqual(["in_flight_full", "in_flight_full"])
})

test("who is refused for want of room is answered late, and not later than half the delivery timeout", async () => {
  await using it = await serveHolding(600, 1000, { deliveryTimeoutMs: 600 })
  const startedMs = performance.now()
  using timers = spyOn(globalThis, "setTimeout")
  expect((await send(it.url, "x".repeat(500))).status).toBe(503)
  expect(performance.now() - startedMs).toBeGreaterThan(290)
  expect(timers.mock.calls.map(([, ms]) => ms)).toContain(300)
  expect(it.servers.inFlight()).toEqual({ requests: 1, bytes: 600 })
  it.open()
  expect((await it.first).status).toBe(200)
})

test("who left while the refusal was kept back holds nothing, and the others are served", async () => {
  await using it = await serveHolding(600, 1000)
  {
    using socket = await openSocket(it.port)
    socket.send(`${post("Content-Length: 100000")}x`)
    while (it.servers.inFlight().requests < 2) await Bun.sleep(1)
  }
  while (it.servers.inFlight().requests > 1) await Bun.sleep(1)
  expect(it.servers.inFlight().bytes).toBe(600)
  it.open()
  expect((await it.first).status).toBe(200)
})

test("large bodies leave half of the budget to small ones while they are worked on, but one alone may have all", async () => {
  await using it = await serveHolding(60_000, 100_000)
  const refused = await Promise.all([
    send(it.url, "x".repeat(30_000)),
    send(it.url, inChunks(["x".repeat(30_000)])),
  ])
  expect(refused.map(({ status }) => status)).toEqual([503, 503])
  const small = [send(it.url, "x".repeat(10_000)), send(it.url, "x".repeat(10_000))]
  while (it.servers.inFlight().bytes < 80_000) await Bun.sleep(1)
  it.open()
  const taken = await Promise.all([it.first, ...small])
  expect(taken.map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await send(it.url, "x".repeat(100_000))).status).toBe(200)
})

test("senders that declare much and send little do not use the budget up", async () => {
  await using it = serve()
  const sockets = await Promise.all(Array.from({ length: 200 }, () => openSocket(it.port)))
  for (const socket of sockets) socket.send(`${post("Content-Length: 1048576")}x`)
  while (it.servers.inFlight().requests < 200) await Bun.sleep(1)
  expect(it.servers.inFlight().bytes).toBeLessThan(40 * 1024 * 1024)
  expect((await send(it.url, "x".repeat(1024 * 1024))).status).toBe(200)
  expect(Buffer.from(it.events[0]!.body).toString()).toBe("x".repeat(1024 * 1024))
  for (const socket of sockets) socket[Symbol.dispose]()
  while (it.servers.inFlight().requests > 0) await Bun.sleep(1)
  expect(it.servers.inFlight().bytes).toBe(0)
})

test("what a body decodes to has to fit into the budget in addition to it", async () => {
  await using it = serve({}, { maxInFlightBytes: 1000 })
  const post = (size: number): Promise<Response> =>
    fetch(`${it.url}/webhook`, {
      method: "POST",
      body: gzipSync(new Uint8Array(size)),
      headers: { "Content-Encoding": "gzip" },
    })
  expect((await post(900)).status).toBe(200)
  expect((await post(1000)).status).toBe(503)
  expect(it.servers.inFlight()).toEqual({ requests: 0, bytes: 0 })
})

test.each([
  ["declared", post("Content-Length: 100"), "x"],
  ["chunked", post("Transfer-Encoding: chunked"), "1\r\nx\r\n"],
])(
  "a %s body that drips is answered 408 after body_timeout, and the connection closed",
  async (_, head, drop) => {
    await using it = serve({}, { bodyTimeoutMs: 300 })
    using socket = await openSocket(it.port)
    const start = performance.now()
    socket.send(head)
    const dripping = setInterval(() => socket.send(drop), 50)
    const answer = await socket.ended.finally(() => clearInterval(dripping))
    expect(performance.now() - start).toBeGreaterThan(290)
    expect(answer).toStartWith("HTTP/1.1 408 ")
    expect(answer).toContain("Connection: close")
    expect(answer).toContain("application/problem+json")
    expect(it.servers.inFlight()).toEqual({ requests: 0, bytes: 0 })
    expect(it.log).toMatchObject([{ reason: "body_timeout", remote_address: "127.0.0.1" }])
    expect(it.events).toHaveLength(0)
  },
)

test("a body that comes late but in time is accepted, and the connection continues to serve", async () => {
  await using it = serve()
  using socket = await openSocket(it.port)
  socket.send(post("Content-Length: 4"))
  await Bun.sleep(20)
  socket.send("ab")
  await Bun.sleep(20)
  const lastMs = steadyMs()
  socket.send("cd")
  await socket.until(/ 200 .*\r\n\r\n/s)
  // delivery_timeout counts from there
  expect(it.events[0]!.arrivedMs).toBeGreaterThanOrEqual(lastMs)
  socket.send(post("Content-Length: 2") + "ef")
  await socket.until(/ 200 .* 200 /s)
  expect(it.events.map((event) => Buffer.from(event.body).toString())).toEqual(["abcd", "ef"])
})

test("a client that leaves within its body holds nothing and gives no event", async () => {
  await using it = serve()
  {
    using socket = await openSocket(it.port)
    socket.send(`${post("Content-Length: 100")}x`)
    while (it.servers.inFlight().bytes !== 100) await Bun.sleep(1)
  }
  while (it.servers.inFlight().requests > 0) await Bun.sleep(1)
  expect(it.servers.inFlight().bytes).toBe(0)
  expect(it.events).toHaveLength(0)
  expect(it.log).toMatchObject([{ level: 20, reason: "client_closed", status: 499 }])
})

test("a client that leaves while its event is published holds nothing after", async () => {
  const { handle, entered, open } = gate()
  await using it = serve({ handle })
  {
    using socket = await openSocket(it.port)
    socket.send(`${post("Content-Length: 2")}{}`)
    await entered
  }
  open()
  while (it.servers.inFlight().requests > 0) await Bun.sleep(1)
  expect(it.servers.inFlight().bytes).toBe(0)
  expect((await send(it.url, "{}")).status).toBe(200)
})

test("draining finishes what was accepted and lets nobody in", async () => {
  const { handle, entered, open } = gate()
  await using it = serve({ handle })
  using begun = await openSocket(it.port)
  begun.send("POST /webhook HTTP/1.1\r\nHost: local")
  using idle = await openSocket(it.port)
  idle.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
  await idle.until(/\}$/)
  const first = send(it.url, "{}")
  await entered

  const drained = it.servers.drain(HANG_MS)
  begun.send("host\r\nContent-Length: 2\r\n\r\n{}")
  const refused = await begun.ended
  expect(refused).toStartWith("HTTP/1.1 503 ")
  expect(refused).toMatch(/Retry-After: 1\r\n/)
  expect(refused).toMatch(/Connection: close\r\n/)
  await idle.ended
  await expect(openSocket(it.port)).rejects.toThrow("ECONNREFUSED")
  expect(it.servers.inFlight().requests).toBe(1)
  open()
  expect((await first).status).toBe(200)
  await drained
  expect(it.servers.inFlight()).toEqual({ requests: 0, bytes: 0 })
})

test("draining releases refusals that are held back", async () => {
  await using it = await serveHolding(600, 1000, { deliveryTimeoutMs: 4 * HANG_MS })
  using socket = await openSocket(it.port)
  socket.send(`${post("Content-Length: 500")}${"x".repeat(500)}`)
  while (it.servers.inFlight().requests < 2) await Bun.sleep(1)
  // at the end of its time it would cut the connection off without an answer
  const drained = it.servers.drain(HANG_MS)
  it.open()
  const refused = await socket.ended
  expect(refused).toStartWith("HTTP/1.1 503 ")
  expect(refused).toContain("\r\nConnection: close\r\n")
  expect(refused).toContain("\r\nRetry-After: 1\r\n")
  expect((await it.first).status).toBe(200)
  await drained
})

test("draining does not wait for a header section that never ends", async () => {
  await using it = serve()
  using socket = await openSocket(it.port)
  socket.send("POST /webhook HTTP/1.1\r\nHost: local")
  expect((await send(it.url, "{}")).status).toBe(200)
  await it.servers.drain(2 * HANG_MS)
  expect(await socket.ended).toBe("")
})

test("draining ends at its time, whatever is still going on", async () => {
  const { handle, entered, open } = gate()
  await using it = serve({ handle })
  using socket = await openSocket(it.port)
  socket.send(`${post("Content-Length: 2")}{}`)
  await entered
  const start = performance.now()
  await it.servers.drain(100)
  expect(performance.now() - start).toBeGreaterThan(95)
  expect(await socket.ended).toBe("")
  open()
})
