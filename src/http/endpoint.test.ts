import { expect, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { inChunks, serve, type GivenRoute } from "../../test/support/http-server.ts"
import { openSocket, post as head } from "../../test/support/http-socket.ts"
import type { Handler } from "../pipeline/compose.ts"
import { Accepted, Answered, Dropped, Rejected } from "../pipeline/outcome.ts"
import { unavailable } from "../pipeline/service-unavailable.ts"
import { tokenBucket, type RateLimit } from "./admission/rate-limit.ts"
import { UnverifiedLimit } from "../addresses/unverified-limit.ts"

const accepted = new Accepted({ partition: 0, offset: 0 })
const unverified = new Rejected(401, "unverified_no_match", "The request could not be verified.", {
  logDetail: "no secret gives this signature",
})
const post = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/webhook`, { method: "POST", body: "{}", ...init })

/** A limit that has let its one event in. */
function spent(): RateLimit {
  const limit = tokenBucket({ perSecond: 1, burst: 1, now: () => 0 })
  limit()
  return limit
}

interface Case {
  readonly route: GivenRoute
  readonly request?: RequestInit
  /** What is counted: outcome and reason. */
  readonly counted: string
  readonly logged?: string
}

test.each<[number, string, Case]>([
  [200, "accepted", { route: {}, counted: "accepted " }],
  [
    200,
    "dropped by a step",
    { route: { handle: async () => new Dropped("ping") }, counted: "dropped ping", logged: "event dropped" },
  ],
  [
    202,
    "a handshake in a body",
    {
      route: { handle: async () => new Answered("challenge", { status: 202 }) },
      counted: "answered challenge",
      logged: "handshake answered",
    },
  ],
  [
    204,
    "a handshake by its headers",
    {
      route: { admit: async () => new Answered("ping", { status: 204 }), methods: ["GET"] },
      request: { method: "GET", body: null },
      counted: "answered ping",
      logged: "handshake answered",
    },
  ],
  [
    401,
    "refused by its headers",
    {
      route: { admit: async () => unverified },
      counted: "rejected unverified_no_match",
      logged: "event rejected",
    },
  ],
  [
    503,
    "refused by the sink",
    {
      route: { handle: async () => unavailable("deadline", "no leader") },
      counted: "rejected deadline",
      logged: "event rejected",
    },
  ],
  [
    500,
    "ended by a fault",
    {
      route: { handle: () => Promise.reject(new Error("broken")) },
      counted: "rejected internal",
      logged: "unhandled error while processing a request",
    },
  ],
  [
    500,
    "ended by a fault before its body",
    {
      route: { admit: () => Promise.reject(new Error("broken")) },
      counted: "rejected internal",
      logged: "unhandled error while processing a request",
    },
  ],
  [
    405,
    "a GET without a handshake",
    {
      route: { admit: async () => undefined, methods: ["GET"] },
      request: { method: "GET", body: null },
      counted: "rejected method_not_allowed",
      logged: "request refused",
    },
  ],
  [
    429,
    "beyond the rate",
    { route: { rateLimit: spent() }, counted: "rejected rate_limited", logged: "request refused" },
  ],
  [
    413,
    "too large",
    { route: { maxBodyBytes: 1 }, counted: "rejected body_too_large", logged: "request refused" },
  ],
])(
  "a request that is answered %d, %s, is counted once and logged once at most",
  async (status, _what, given) => {
    const { route, request = {}, counted, logged } = given
    await using it = serve(route)
    expect((await post(it.url, request)).status).toBe(status)
    const [outcome, reason] = counted.split(" ")
    expect(await it.counts()).toEqual([
      `hookline_http_requests_total{pipeline="hooks",status="${status}"} 1`,
      `hookline_events_total{pipeline="hooks",outcome="${outcome}",reason="${reason}"} 1`,
    ])
    expect(it.log.map(({ msg }) => msg)).toEqual(logged === undefined ? [] : [logged])
    expect(it.servers.inFlight()).toEqual({ requests: 0, bytes: 0 })
  },
)

test.each<[number, string, GivenRoute]>([
  [200, "accepted ", {}],
  [500, "rejected internal", { handle: () => Promise.reject(new Error("broken")) }],
])("an answer %d stays what it is when it can't be captured", async (status, counted, route) => {
  const keep = (): never => {
    throw new RangeError("Out of memory")
  }
  await using it = serve(route, { capture: { keepsAccepted: true, wants: () => true, keep } })
  expect((await post(it.url)).status).toBe(status)
  const [outcome, reason] = counted.split(" ")
  expect(await it.counts()).toEqual([
    `hookline_http_requests_total{pipeline="hooks",status="${status}"} 1`,
    `hookline_events_total{pipeline="hooks",outcome="${outcome}",reason="${reason}"} 1`,
  ])
  expect(it.log[0]).toMatchObject({ msg: "request not captured", err: { message: "Out of memory" } })
})

/** A pipeline that verifies a sender by one header. */
const verifying: GivenRoute = {
  verifiesSenders: true,
  handle: async ({ request }, limits) => {
    if (request.headers.get("X-Signature") !== "right") return unverified
    request.isVerified = true
    return (await limits?.whenVerified(request)) ?? accepted
  },
}

test.each<[string, number, RequestInit]>([
  ["of 160 KiB is refused", 401, { body: "x".repeat(160 * 1024) }],
  ["in chunks is refused", 401, { body: inChunks(Array<string>(20).fill("x".repeat(8 * 1024))) }],
  ["is found too large within its chunks", 413, { body: inChunks(["x".repeat(512 * 1024), "x"]) }],
])("an unverified body that %s counts by its bytes", async (_what, status, request) => {
  const unverifiedLimit = new UnverifiedLimit({ perSecond: 10, now: () => 0 })
  await using it = serve({ ...verifying, unverifiedLimit, maxBodyBytes: 512 * 1024 })
  expect((await post(it.url, request)).status).toBe(status)
  expect((await post(it.url)).status).toBe(429)
})

test.each<[string, number, Uint8Array]>([
  ["decompresses to 160 KiB", 401, brotliCompressSync(randomBytes(160 * 512).toString("hex"))],
  ["decompresses to more than is accepted", 413, brotliCompressSync(randomBytes(700 * 512).toString("hex"))],
])("an unverified body that %s counts by what it decompresses to", async (_what, status, body) => {
  const unverifiedLimit = new UnverifiedLimit({ perSecond: 10, now: () => 0 })
  await using it = serve({ ...verifying, unverifiedLimit, maxBodyBytes: 512 * 1024 })
  const headers = { "Content-Encoding": "br" }
  expect((await post(it.url, { body: new Uint8Array(body), headers })).status).toBe(status)
  expect((await post(it.url)).status).toBe(429)
})

test("a body that arrived while its address used up the limit is not decompressed", async () => {
  const unverifiedLimit = new UnverifiedLimit({ perSecond: 1, now: () => 0 })
  await using it = serve({ ...verifying, unverifiedLimit })
  const body = gzipSync("{}")
  using socket = await openSocket(it.port)
  socket.send(head("Content-Encoding: gzip", `Content-Length: ${body.length}`))
  while (it.servers.inFlight().requests === 0) await Bun.sleep(1)
  expect((await post(it.url)).status).toBe(401)
  socket.send(body)
  expect(await socket.until(/\}$/)).toStartWith("HTTP/1.1 429 ")
})

test("an unverified body that its sender breaks off counts by its bytes", async () => {
  const unverifiedLimit = new UnverifiedLimit({ perSecond: 10, now: () => 0 })
  await using it = serve({ ...verifying, unverifiedLimit })
  {
    using socket = await openSocket(it.port)
    socket.send(`${head("Content-Length: 163840")}x`)
    while (it.servers.inFlight().bytes === 0) await Bun.sleep(1)
  }
  while (it.servers.inFlight().requests > 0) await Bun.sleep(1)
  expect((await post(it.url)).status).toBe(429)
})

test("an unverified body that is waited for counts by its seconds", async () => {
  const unverifiedLimit = new UnverifiedLimit({ perSecond: 2, now: () => 0 })
  await using it = serve({ ...verifying, unverifiedLimit }, { bodyTimeoutMs: 1050 })
  using socket = await openSocket(it.port)
  socket.send(`${head("Content-Length: 2")}{`)
  expect(await socket.ended).toStartWith("HTTP/1.1 408 ")
  expect((await post(it.url)).status).toBe(429)
})

/** The same, whose check costs little. */
const quick: GivenRoute = {
  ...verifying,
  quickCheck: { needsBody: true, isSigned: (headers) => headers.has("X-Signature") },
}
const SIGNED = { "X-Signature": "right" }
const FORGED = { "X-Signature": "wrong" }

/** A limit of which 127.0.0.1 has used more than all. */
function overrun(): UnverifiedLimit {
  const limit = new UnverifiedLimit({ perSecond: 10, now: () => 0 })
  limit.refused("127.0.0.1", 1000)
  return limit
}

/** Gives the answers of a request with each of these, in order. */
async function answersOf(url: string, requests: readonly RequestInit[]): Promise<number[]> {
  const statuses: number[] = []
  for (const request of requests) statuses.push((await post(url, request)).status)
  return statuses
}

test("beyond the limit what is signed is accepted, and what is not, or forged, gets 429", async () => {
  await using it = serve({ ...quick, unverifiedLimit: overrun() })
  const requests = [{}, { headers: FORGED }, { headers: SIGNED }, {}, { headers: FORGED }]
  expect(await answersOf(it.url, requests)).toEqual([429, 429, 200, 429, 429])
  expect((await post(it.url, { headers: FORGED })).headers.get("retry-after")).toBe("1")
  expect(it.log.map(({ reason }) => reason)).toEqual(Array(5).fill("unverified_rate_limited"))
})

test("beyond the limit a large body is read while half of the memory is free, and a small one always", async () => {
  const large = { headers: SIGNED, body: "x".repeat(20_000) }
  const unverifiedLimit = overrun()
  await using it = serve({ ...quick, unverifiedLimit }, { maxInFlightBytes: 100_000 })
  expect(await answersOf(it.url, [large])).toEqual([200])
  using slow = await openSocket(it.port)
  slow.send(head("X-Signature: right", "Content-Length: 49000"))
  using slower = await openSocket(it.port)
  slower.send(`${head("X-Signature: right", "Content-Length: 16000")}x`)
  while (it.servers.inFlight().bytes < 50_000) await Bun.sleep(1)
  expect(await answersOf(it.url, [large, { headers: SIGNED }])).toEqual([429, 200])
})

test("beyond the limit a compressed body is decompressed for a sender that was verified within a minute", async () => {
  const compressed = (signature: object): RequestInit => ({
    body: gzipSync("{}"),
    headers: { "Content-Encoding": "gzip", ...signature },
  })
  await using unknown = serve({ ...quick, unverifiedLimit: overrun() })
  expect(await answersOf(unknown.url, [compressed(SIGNED)])).toEqual([429])

  const unverifiedLimit = new UnverifiedLimit({ perSecond: 1, now: () => 0 })
  await using it = serve({ ...quick, unverifiedLimit })
  expect((await post(it.url, compressed(SIGNED))).status).toBe(200)
  unverifiedLimit.refused("127.0.0.1", 1000)
  expect(await answersOf(it.url, [compressed(SIGNED), compressed(FORGED)])).toEqual([200, 401])
})

test("beyond the limit a compressed body is read as any other where headers alone verify", async () => {
  const { handle } = verifying
  const quickCheck = { ...quick.quickCheck!, needsBody: false }
  await using it = serve({ verifiesSenders: true, handle: handle!, quickCheck, unverifiedLimit: overrun() })
  const request = { body: gzipSync("{}"), headers: { "Content-Encoding": "gzip", ...SIGNED } }
  expect(await answersOf(it.url, [request])).toEqual([200])
})

test("where verifying is expensive, a sender verified within a minute is exempt, whether it was refused before or not", async () => {
  await using unknown = serve({ ...verifying, unverifiedLimit: overrun() })
  expect(await answersOf(unknown.url, [{ headers: SIGNED }])).toEqual([429])

  const unverifiedLimit = new UnverifiedLimit({ perSecond: 1, now: () => 0 })
  await using it = serve({ ...verifying, unverifiedLimit })
  const requests = [{ headers: SIGNED }, {}, {}, {}, {}, {}, { headers: SIGNED }]
  expect(await answersOf(it.url, requests)).toEqual([200, 401, 401, 401, 401, 401, 200])
})

const FORWARDED = { headers: { "X-Forwarded-For": "192.0.2.1" } }
const UNTRUSTED = 'hookline_untrusted_proxy_requests_total{pipeline="hooks"} 1'

test.each<[string, GivenRoute["trustsProxy"], boolean]>([
  ["where none is trusted", undefined, true],
  ["that is not one of the trusted", (address) => address === "192.0.2.9", true],
  ["that is trusted", (address) => address === "127.0.0.1", false],
])("X-Forwarded-For of an address %s is logged once: %p", async (_what, trustsProxy, isNoted) => {
  await using it = serve({ trustsProxy })
  for (const request of [FORWARDED, {}, FORWARDED, FORWARDED])
    expect((await post(it.url, request)).status).toBe(200)
  expect((await it.counts()).includes(UNTRUSTED)).toBe(isNoted)
  const msg = expect.stringContaining("trusted_proxies does not list")
  const line = { level: 40, reason: "untrusted_proxy", pipeline: "hooks", peer_address: "127.0.0.1", msg }
  expect(it.log).toMatchObject(isNoted ? [line] : [])
})

test.each<[string, Handler["handle"]]>([
  ["a fault of this side", async () => unavailable("unverified_keys_unavailable")],
  ["a refusal of a verified sender", async ({ request }) => ((request.isVerified = true), unverified)],
  ["a dropped event", async () => new Dropped("replayed")],
])("%s does not count as unverified", async (_what, handle) => {
  const unverifiedLimit = new UnverifiedLimit({ perSecond: 1, now: () => 0 })
  await using it = serve({ verifiesSenders: true, handle, unverifiedLimit })
  await post(it.url)
  expect(unverifiedLimit.size).toBe(0)
})

test.each([
  [{ status: 200, body: "", contentType: undefined }, "[accepted]", "text/plain"],
  [{ status: 200, body: "ok", contentType: undefined }, "ok", null],
  [{ status: 204, body: "", contentType: undefined }, "", null],
])(
  "the answer is the source's %j, or else the one that a step wants",
  async (response, body, contentType) => {
    const handler: Handler = {
      admit: undefined,
      methods: [],
      outcomes: [],
      verifiesSenders: false,
      quickCheck: undefined,
      response: { body: "[accepted]", contentType: "text/plain" },
      handle: async () => accepted,
    }
    await using it = serve({ response, handler })
    const answer = await post(it.url)
    expect([answer.status, await answer.text()]).toEqual([response.status, body])
    if (contentType !== null) expect(answer.headers.get("content-type")).toBe(contentType)
  },
)
