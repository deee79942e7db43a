import { expect, spyOn, test } from "bun:test"
import { createHmac } from "node:crypto"
import { tokenBucket, type RateLimit } from "../../src/http/admission/rate-limit.ts"
import { temporaryFolder, type Started } from "../support/hookline.ts"
import { serve } from "../support/http-server.ts"
import { openSocket, post } from "../support/http-socket.ts"
import { startInProcess } from "../support/in-process.ts"

/** Lets one event in at a time, and the next one when the clock is put on by a second. */
function oneASecond(): { rateLimit: RateLimit; goOn: () => void } {
  let nowMs = 0
  return {
    rateLimit: tokenBucket({ perSecond: 1, burst: 1, now: () => nowMs }),
    goOn: () => (nowMs += 1000),
  }
}

const send = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/webhook`, { method: "POST", body: "{}", ...init })

test("beyond the limit is 429 with a problem document, and Retry-After says when that is over", async () => {
  const { rateLimit, goOn } = oneASecond()
  await using it = serve({ rateLimit })
  expect((await send(it.url)).status).toBe(200)
  const answer = await send(it.url)
  expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("content-type")]).toEqual([
    429,
    "1",
    "application/problem+json",
  ])
  expect(await answer.json()).toEqual({
    request_id: answer.headers.get("x-request-id"),
    type: "urn:hookline:error:rate_limited",
    title: "Too Many Requests",
    status: 429,
    detail: "Too many events at this endpoint; send this one again later.",
  })
  goOn()
  expect((await send(it.url)).status).toBe(200)
  expect(it.events).toHaveLength(2)
  expect(it.log).toMatchObject([{ pipeline: "hooks", reason: "rate_limited", status: 429 }])
  expect(await it.counts()).toContain(
    'hookline_events_total{pipeline="hooks",outcome="rejected",reason="rate_limited"} 1',
  )
})

test("it is decided before a byte of the body has come", async () => {
  const { rateLimit } = oneASecond()
  rateLimit()
  await using it = serve({ rateLimit })
  using socket = await openSocket(it.port)
  socket.send(post("Content-Length: 1000"))
  expect(await socket.until(/\}$/)).toStartWith("HTTP/1.1 429 ")
  expect(it.servers.inFlight()).toEqual({ requests: 0, bytes: 0 })
})

test("what is refused for its method, path, address, content type or coding uses up nothing", async () => {
  const { rateLimit } = oneASecond()
  await using it = serve({
    rateLimit,
    contentTypes: ["application/json"],
    allows: (address) => address !== "192.0.2.1",
    trustsProxy: () => true,
  })
  const json = { "Content-Type": "application/json" }
  const statuses = [
    await send(it.url, { method: "PUT" }),
    await fetch(`${it.url}/elsewhere`, { method: "POST" }),
    await send(it.url, { headers: { ...json, "X-Forwarded-For": "192.0.2.1" } }),
    await send(it.url, { headers: { "Content-Type": "text/plain" } }),
    await send(it.url, { headers: { ...json, "Content-Encoding": "rot13" } }),
    await send(it.url, { headers: json }),
    await send(it.url, { headers: json }),
  ].map(({ status }) => status)
  expect(statuses).toEqual([405, 404, 403, 415, 415, 200, 429])
})

test("each pipeline has a limit of its own, and a flood is a few log lines and a number", async () => {
  using folder = temporaryFolder()
  const pipeline = (id: string, more: string): string => `
[pipeline:${id}:WebHookSource]
${more}
[pipeline:${id}:BrokerSink]
topic = ${id}
`
  await using running = await startInProcess(
    `[connection:log]\ndirectory = data\n${pipeline("slow", "rate_limit = 0.01\nrate_burst = 3")}${pipeline("free", "")}`,
    { folder: folder.path },
  )
  const statuses: number[] = []
  for (let n = 0; n < 200; n++) {
    const answer = await fetch(running.urls["slow"]!, { method: "POST", body: "{}" })
    statuses.push(answer.status)
    if (answer.status === 429) expect(Number(answer.headers.get("retry-after"))).toBeWithin(90, 101)
  }
  expect(statuses).toEqual([...Array<number>(3).fill(200), ...Array<number>(197).fill(429)])
  expect((await fetch(running.urls["free"]!, { method: "POST", body: "{}" })).status).toBe(200)
  await running.stop()

  const refused = running.log.filter(({ reason }) => reason === "rate_limited")
  const single = refused.filter(({ more }) => more === undefined)
  expect(single.length).toBeLessThan(100)
  expect(single.length + refused.reduce((sum, { more }) => sum + Number(more ?? 0), 0)).toBe(197)
})

const SECRET = "obviously-fake-secret"
const BODY = '{"n":1}'
const signature = createHmac("sha256", SECRET).update(BODY).digest("hex")

/** A Hookline whose pipeline `signed` verifies, with more lines for its source. */
function startVerifying(folder: string, lines: string, more = ""): Promise<Started> {
  return startInProcess(
    `[connection:log]
directory = data
[pipeline:signed:WebHookSource]
trusted_proxies = 127.0.0.1
${lines}
[pipeline:signed:Verifier]
provider = hmac
header = X-Signature
secret = ${SECRET}
${more}
[pipeline:signed:BrokerSink]
topic = signed
`,
    { folder },
  )
}

/** Stops the clock: a busy machine serves no more requests a second than a limit allows. */
const stoppedClock = () => spyOn(performance, "now").mockReturnValue(performance.now())

/** Posts as an address, signed or not, and gives the answer's status. */
async function postAs(url: string, address: string, signed: string | undefined): Promise<number> {
  const headers = { "X-Forwarded-For": address, ...(signed === undefined ? {} : { "X-Signature": signed }) }
  return (await fetch(url, { method: "POST", body: BODY, headers })).status
}

test("requests that are not verified spend nothing of rate_limit", async () => {
  using folder = temporaryFolder()
  await using running = await startVerifying(folder.path, "rate_limit = 0.01\nrate_burst = 3")
  const url = running.urls["signed"]!
  for (let n = 0; n < 20; n++) {
    expect(await postAs(url, "192.0.2.1", undefined)).toBe(401)
    expect(await postAs(url, "192.0.2.2", "0".repeat(64))).toBe(401)
  }
  const statuses = [1, 2, 3, 4].map(() => postAs(url, "192.0.2.3", signature))
  expect((await Promise.all(statuses)).toSorted()).toEqual([200, 200, 200, 429])
  // beyond the limit too, who is not verified is told so
  expect(await postAs(url, "192.0.2.4", undefined)).toBe(401)
  await running.stop()
  expect(running.log).toContainEqual(
    expect.objectContaining({ msg: "event rejected", reason: "rate_limited", status: 429 }),
  )
})

test("what an address sends unverified beyond unverified_rate_limit is 429 before its body; others are served", async () => {
  using folder = temporaryFolder()
  await using running = await startVerifying(folder.path, "unverified_rate_limit = 5")
  const url = running.urls["signed"]!
  const flood = async (address: string): Promise<number[]> => {
    const statuses: number[] = []
    for (let n = 0; n < 100; n++) statuses.push(await postAs(url, address, undefined))
    return statuses
  }
  using _clock = stoppedClock()
  const beyond = [...Array<number>(5).fill(401), ...Array<number>(95).fill(429)]
  expect(await flood("192.0.2.1")).toEqual(beyond)
  expect(await postAs(url, "192.0.2.2", undefined)).toBe(401)
  expect(await postAs(url, "192.0.2.3", signature)).toBe(200)
  // a network of 64 bits is one sender
  expect(await flood("2001:db8::1")).toEqual(beyond)
  expect(await postAs(url, "2001:db8::ffff:2", undefined)).toBe(429)
  expect(await postAs(url, "2001:db8:0:1::1", undefined)).toBe(401)

  using socket = await openSocket(Number(new URL(url).port))
  socket.send(post("X-Forwarded-For: 2001:db8::3", "Content-Length: 1000"))
  expect(await socket.until(/\}$/)).toMatch(/^HTTP\/1.1 429 [^]*\r\nRetry-After: 1\r\n/)
  await running.stop()
  expect(running.log).toContainEqual(
    expect.objectContaining({ reason: "unverified_rate_limited", remote_address: "192.0.2.1", status: 429 }),
  )
})

test("signed events are accepted from the first one on while their address floods the pipeline with others", async () => {
  using folder = temporaryFolder()
  await using running = await startVerifying(folder.path, "unverified_rate_limit = 10")
  const url = running.urls["signed"]!
  const flood = async (signed?: string): Promise<number[]> => {
    const statuses: number[] = []
    for (let n = 0; n < 200; n++) statuses.push(await postAs(url, "192.0.2.1", signed))
    return statuses
  }
  using _clock = stoppedClock()
  const floods = Promise.all([flood(), flood("0".repeat(64)), flood("nothing of the form")])
  expect((await floods).flat().filter((status) => status === 401)).toHaveLength(10)
  const [signed, ...others] = await Promise.all([flood(signature), flood(), flood("0".repeat(64))])
  expect(signed).toEqual(Array<number>(200).fill(200))
  expect(others.flat()).toContain(429)
  await running.stop()
})

test("a pipeline that only observes, or that has no Verifier, counts all and limits no address", async () => {
  using folder = temporaryFolder()
  const lines = "rate_limit = 0.01\nrate_burst = 20\nunverified_rate_limit = 1"
  await using running = await startVerifying(folder.path, lines, "mode = observe")
  const statuses: number[] = []
  for (let n = 0; n < 25; n++) statuses.push(await postAs(running.urls["signed"]!, "192.0.2.1", undefined))
  expect(statuses).toEqual([...Array<number>(20).fill(200), ...Array<number>(5).fill(429)])
  await running.stop()
})
