import { expect, test } from "bun:test"
import type { Event } from "../../src/pipeline/event.ts"
import { Accepted, Answered, Dropped, Rejected } from "../../src/pipeline/outcome.ts"
import { addressTest } from "../../src/addresses/addresses.ts"
import { serve, type GivenRoute } from "../support/http-server.ts"
import { openSocket } from "../support/http-socket.ts"
import { freePort } from "../support/ports.ts"

const send = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { method: "POST", body: "{}", ...init })

async function problemOf(answer: Response): Promise<object> {
  expect(answer.headers.get("content-type")).toBe("application/problem+json")
  return (await answer.json()) as object
}

test("an event is handed on with its bytes and what is known of its request, and answered 200 with nothing", async () => {
  let remoteAddress: string | undefined
  const seen: Event[] = []
  await using it = serve({
    handle: async (event) => {
      seen.push(event)
      remoteAddress = event.request.remoteAddress
      return new Accepted({ partition: 0, offset: 0 })
    },
  })
  const before = Date.now()
  const body = new Uint8Array([0, 255, 10, 13, 0xc3])
  const answer = await send(`${it.url}/webhook?a=%20b&c`, { body, headers: { "X-Two": "é" } })
  expect([answer.status, await answer.text(), answer.headers.get("content-type")]).toEqual([200, "", null])
  const [event] = seen as [Event]
  const { request } = event
  expect(event.body).toEqual(body)
  expect(event.receivedAtMs).toBeWithin(before, Date.now() + 1)
  expect([request.method, request.path, request.query, remoteAddress]).toEqual([
    "POST",
    "/webhook",
    "a=%20b&c",
    "127.0.0.1",
  ])
  expect(request.headers.get("x-two")).toBe("é")
  expect(await it.counts()).toEqual([
    'hookline_http_requests_total{pipeline="hooks",status="200"} 1',
    'hookline_events_total{pipeline="hooks",outcome="accepted",reason=""} 1',
  ])
  expect(it.log).toEqual([])
})

test("headers and address are still there after the acknowledgement", async () => {
  let seen: unknown
  await using it = serve({
    handle: async ({ request }) => {
      await Bun.sleep(1)
      seen = [request.headers.get("x-one"), request.remoteAddress]
      return new Dropped("unwanted")
    },
  })
  await send(`${it.url}/webhook`, { headers: { "X-One": "1" } })
  expect(seen).toEqual(["1", "127.0.0.1"])
})

test("the configured answer is given to accepted and dropped events", async () => {
  const response = { status: 202, body: '{"ok":true}', contentType: "application/json" }
  await using it = serve([
    { response },
    { response, path: "/dropped", handle: async () => new Dropped("unwanted") },
  ])
  for (const [i, path] of ["/webhook", "/dropped"].entries()) {
    const answer = await send(it.servers.urls[i]! + path)
    expect([answer.status, await answer.text(), answer.headers.get("content-type")]).toEqual([
      202,
      '{"ok":true}',
      "application/json",
    ])
  }
})

test("a rejection is answered as a problem document with its headers; its log detail is not sent", async () => {
  const rejected = new Rejected(401, "bad_signature", "Signature missing.", {
    logDetail: "secret 2",
    headers: { "WWW-Authenticate": "Basic" },
  })
  await using it = serve({ handle: async () => rejected })
  const answer = await send(`${it.url}/webhook`)
  expect(answer.status).toBe(401)
  expect(answer.headers.get("www-authenticate")).toBe("Basic")
  expect(await problemOf(answer)).toEqual({
    type: "urn:hookline:error:unauthorized",
    title: "Unauthorized",
    status: 401,
    detail: "Signature missing.",
    request_id: answer.headers.get("x-request-id"),
  })
})

test("a fault is answered 500 without what it was; the log has the stack", async () => {
  await using it = serve({ handle: () => Promise.reject(new Error("broker-7 is on fire")) })
  const answer = await send(`${it.url}/webhook`)
  expect(answer.status).toBe(500)
  expect(JSON.stringify(await problemOf(answer))).not.toContain("broker-7")
  expect(JSON.stringify(it.log)).toMatch(/broker-7 is on fire.*http-routing\.test/)
  expect(await it.counts()).toEqual([
    'hookline_http_requests_total{pipeline="hooks",status="500"} 1',
    'hookline_events_total{pipeline="hooks",outcome="rejected",reason="internal"} 1',
  ])
  expect(it.servers.inFlight()).toEqual({ requests: 0, bytes: 0 })
})

test("a path that no pipeline has is answered 404", async () => {
  await using it = serve()
  const answer = await send(`${it.url}/elsewhere?token=1`)
  expect(answer.status).toBe(404)
  expect(await problemOf(answer)).toMatchObject({ title: "Not Found", status: 404 })
  expect(await it.counts()).toEqual(['hookline_http_requests_total{pipeline="",status="404"} 1'])
  expect(it.log).toEqual([
    {
      level: 30,
      status: 404,
      reason: "unknown_path",
      method: "POST",
      path: "/elsewhere",
      remote_address: "127.0.0.1",
      request_id: answer.headers.get("x-request-id"),
      msg: "request refused",
    },
  ])
})

test.each(["GET", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])(
  "%s on a pipeline's path is answered 405 with Allow",
  async (method) => {
    await using it = serve()
    using socket = await openSocket(it.port)
    socket.send(`${method} /webhook HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    const answer = await socket.until(/\}$/)
    expect(answer).toStartWith("HTTP/1.1 405 ")
    expect(answer).toContain("\r\nAllow: POST, HEAD\r\n")
    expect(it.events).toHaveLength(0)
  },
)

const challenge: GivenRoute = {
  methods: ["GET", "OPTIONS"],
  admit: async ({ query }) => (query === "ask" ? new Answered("challenge", { body: "it" }) : undefined),
}

test.each<[string, number, string, GivenRoute]>([
  ["HEAD /webhook", 200, "answered probe", {}],
  ["HEAD /webhook", 200, "answered probe", { verifiesSenders: true }],
  ["HEAD /webhook", 200, "answered probe", challenge],
  ["HEAD /webhook", 403, "rejected address_not_allowed", { allows: () => false }],
  ["GET /webhook", 200, "answered probe", { probeStatus: 200 }],
  ["HEAD /webhook", 200, "answered probe", { probeStatus: 200 }],
  ["HEAD /webhook?a=b", 204, "answered probe", { probeStatus: 204 }],
  ["GET /webhook", 202, "answered probe", { probeStatus: 202, verifiesSenders: true }],
  ["GET /webhook?ask", 200, "answered challenge", { ...challenge, probeStatus: 204 }],
  ["GET /webhook", 204, "answered probe", { ...challenge, probeStatus: 204 }],
  ["HEAD /webhook", 204, "answered probe", { ...challenge, probeStatus: 204 }],
  ["OPTIONS /webhook", 405, "rejected method_not_allowed", { ...challenge, probeStatus: 204 }],
  ["GET /webhook", 405, "rejected method_not_allowed", challenge],
  ["PUT /webhook", 405, "rejected method_not_allowed", { probeStatus: 200 }],
  ["GET /webhook", 403, "rejected address_not_allowed", { probeStatus: 200, allows: () => false }],
])("%s is answered %d, %s", async (line, status, counted, route) => {
  await using it = serve(route)
  const [method = "", target = ""] = line.split(" ")
  const answer = await fetch(it.url + target, { method })
  expect(answer.status).toBe(status)
  expect((await answer.text()) === "").toBe(method === "HEAD" || counted.endsWith("probe"))
  const [outcome, reason] = counted.split(" ")
  expect(await it.counts()).toContain(
    `hookline_events_total{pipeline="hooks",outcome="${outcome}",reason="${reason}"} 1`,
  )
  expect(it.events).toHaveLength(0)
  if (counted.endsWith("probe")) expect(it.log).toMatchObject([{ level: 20, msg: "probe answered" }])
})

test("the methods of presets and probes are allowed once each", async () => {
  await using it = serve({ ...challenge, probeStatus: 200 })
  const answer = await fetch(`${it.url}/webhook`, { method: "PUT" })
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST, GET, OPTIONS, HEAD"])
})

test("pipelines share a port by path: the exact one before the longest prefix", async () => {
  const port = await freePort()
  const paths = ["/*", "/hooks/*", "/hooks/deep/*", "/hooks/exact", "/webhook"]
  const seen: string[] = []
  await using it = serve(
    paths.map((path) => ({
      port,
      path,
      pipeline: path,
      handle: async ({ request }) => {
        seen.push(`${request.path} ${path}`)
        return new Dropped("seen")
      },
    })),
  )
  for (const path of ["/webhook", "/hooks/exact", "/hooks/a", "/hooks/", "/hooks", "/hooks/deep/a/b", "/"]) {
    expect((await send(it.url + path)).status).toBe(200)
  }
  expect(seen).toEqual([
    "/webhook /webhook",
    "/hooks/exact /hooks/exact",
    "/hooks/a /hooks/*",
    "/hooks/ /hooks/*",
    "/hooks /*",
    "/hooks/deep/a/b /hooks/deep/*",
    "/ /*",
  ])
})

test("localhost and 127.0.0.1 are one address: their routes share its listener", async () => {
  const port = await freePort()
  const named = { host: "Localhost", pipeline: "others", path: "/other" }
  await using it = serve([{ port }, { ...named, port }])
  expect((await send(`${it.url}/other`)).status).toBe(200)
  expect((await send(`${it.url}/webhook`)).status).toBe(200)
})

test("routes of several ports each listen on their own", async () => {
  await using it = serve([{}, { pipeline: "others", path: "/other" }])
  const [first, second] = it.servers.urls
  expect(first).not.toBe(second)
  expect((await send(`${first}/webhook`)).status).toBe(200)
  expect((await send(`${second}/other`)).status).toBe(200)
  expect((await send(`${second}/webhook`)).status).toBe(404)
})

test("an address that is not allowed is answered 403, also when it claims another one", async () => {
  await using it = serve({ allows: addressTest(["192.0.2.0/24"]) })
  const answer = await send(`${it.url}/webhook`, { headers: { "X-Forwarded-For": "192.0.2.1" } })
  expect(answer.status).toBe(403)
  expect(it.log).toMatchObject([
    { reason: "untrusted_proxy", peer_address: "127.0.0.1" },
    { reason: "address_not_allowed", remote_address: "127.0.0.1" },
  ])
  expect(it.events).toHaveLength(0)
})

test("behind a trusted proxy the address that it names is the sender's", async () => {
  await using it = serve({ allows: addressTest(["192.0.2.0/24"]), trustsProxy: addressTest(["127.0.0.1"]) })
  const from = async (forwarded: string): Promise<number> =>
    (await send(`${it.url}/webhook`, { headers: { "X-Forwarded-For": forwarded } })).status
  expect(await from("192.0.2.1")).toBe(200)
  expect(await from("192.0.2.1, 198.51.100.1")).toBe(403)
  expect(it.events.map((event) => event.request.remoteAddress)).toEqual(["192.0.2.1"])
})

test("a content type that is not listed is answered 415", async () => {
  await using it = serve({ contentTypes: ["application/json"] })
  const status = async (type: string): Promise<number> =>
    (await send(`${it.url}/webhook`, { headers: { "Content-Type": type } })).status
  expect(await status("application/json")).toBe(200)
  expect(await status("Application/JSON; charset=utf-8")).toBe(200)
  expect(await status("text/plain")).toBe(415)
  expect((await fetch(`${it.url}/webhook`, { method: "POST" })).status).toBe(415)
})

test("a Host header that is no host's name changes nothing", async () => {
  await using it = serve()
  using socket = await openSocket(it.port)
  socket.send("POST /webhook?q HTTP/1.1\r\nHost: a/b?c\r\nContent-Length: 2\r\n\r\n{}")
  expect(await socket.until(/\r\n\r\n/)).toStartWith("HTTP/1.1 200 ")
  expect(it.events[0]!.request).toMatchObject({ path: "/webhook", query: "q" })
})
