import { join } from "node:path"
import { afterEach, expect, setSystemTime, test } from "bun:test"
import pino from "pino"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { GITHUB_ENDPOINT, GITHUB_TOKEN, GitHubHook } from "../../../test/support/github-hook.ts"
import { openEmbeddedReader } from "../../brokers/embedded/reader.ts"
import { HOUR_MS, type Certificate } from "./certificate.ts"
import { Ledger, ledgerIn } from "./ledger-database.ts"
import type { Listing } from "./listing.ts"
import { LISTINGS } from "./listings.ts"
import { Reconciler } from "./reconciler.ts"
import type { Target } from "./reconciliation.ts"
import { SenderApi } from "./sender-api.ts"

/** The row as it is, with a sender that is quick. */
const QUICK: Listing = { ...LISTINGS["github"]!, latencyMs: 60, perHour: 3_600_000 }
const NOT_PUBLISHED = async (_certificate: Certificate): Promise<void> => {}

const opened: AsyncDisposableStack[] = []
afterEach(async () => {
  setSystemTime()
  for (const it of opened.splice(0)) await it.disposeAsync()
})

/** A hook of GitHub's, an endpoint that may be down, and a reconciler. */
async function start({ windowMs = 3 * HOUR_MS, certified = NOT_PUBLISHED } = {}) {
  const stack = new AsyncDisposableStack()
  opened.push(stack)
  const folder = stack.use(temporaryFolder())
  const got: string[] = []
  const endpoint = { status: 200, problem: undefined as string | undefined }
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      if (endpoint.status === 200) got.push(request.headers.get("x-github-delivery")!)
      return new Response(null, { status: endpoint.status })
    },
  })
  stack.defer(() => server.stop(true))
  const url = `http://127.0.0.1:${server.port}/hook`
  const hook = stack.use(new GitHubHook(url))
  // old enough to be asked for, and for a clock of whole seconds
  hook.deliveredAgoMs = 5000
  hook.redeliversFirst = true
  const target: Target = {
    problem: async () => endpoint.problem,
    inject: undefined,
    isAt: (it) => it === url,
  }
  const log = pino({ level: "silent" })
  const stopping = new AbortController()
  const open = () => {
    const ledger = new Ledger(ledgerIn(folder.path, "github"), log)
    const access = { credentials: GITHUB_TOKEN, api: hook.api, endpoint: GITHUB_ENDPOINT }
    const api = new SenderApi(QUICK, access, stopping.signal, { pauses: { first: 5, longest: 20 } })
    const reconciler = new Reconciler({
      id: "github",
      provider: "github",
      api,
      ledger,
      index: undefined,
      shared: undefined,
      target,
      openLog: async () => openEmbeddedReader(join(folder.path, "log")),
      windowMs,
      everyMs: 1000,
      certified,
      log,
      signal: stopping.signal,
    })
    return { ledger, reconciler, api }
  }
  const running = open()
  let { ledger } = running
  stack.defer(() => ledger.close())
  stack.defer(() => stopping.abort())
  /** A reconciler of the next process. */
  const restarted = async () => {
    await ledger.close()
    const next = open()
    ledger = next.ledger
    return next.reconciler
  }
  const asked = () => hook.requests.filter((it) => it.startsWith("POST")).length
  return { ...running, hook, endpoint, got, restarted, asked }
}

test("events that failed are delivered again, and all that was sent is accounted for", async () => {
  const { reconciler, hook, endpoint, got } = await start()
  await hook.send("a")
  endpoint.status = 503
  for (const guid of ["b", "c"]) await hook.send(guid)
  endpoint.status = 400
  await hook.send("d")
  endpoint.status = 200
  expect(await reconciler.pass()).toMatchObject({
    listed: 4,
    accounted: { accepted: 3, "refused 400": 1 },
    missing: 2,
    recovered: 2,
    open: 0,
    unrecoverable: 0,
    ids: { recovered: ["b", "c"], unrecoverable: [] },
  })
  expect(got.toSorted()).toEqual(["a", "b", "c"])
})

test("an event that fails again is asked for three times in all, and then reported", async () => {
  const { reconciler, hook, endpoint, asked } = await start()
  endpoint.status = 503
  await hook.send("a")
  for (const open of [1, 1, 0, 0])
    expect(await reconciler.pass()).toMatchObject({ missing: 1, open, unrecoverable: 1 - open })
  expect(asked()).toBe(3)
})

test.each<[string, () => Response, RegExp]>([
  ["is down", () => new Response(null, { status: 500 }), /^GitHub's API: HTTP 500$/],
  [
    "refuses a token that may only read",
    () => Response.json({ message: "Resource not accessible" }, { status: 403 }),
    /^GitHub's API: HTTP 403, Resource not accessible; to deliver again, the credentials need write access/,
  ],
])("an API that %s uses up no attempt, and keeps none of the others waiting", async (_, answer, problem) => {
  const { reconciler, hook, endpoint, restarted } = await start()
  endpoint.status = 503
  for (const guid of ["a", "b"]) await hook.send(guid)
  endpoint.status = 200
  let refused = /attempts$/
  hook.before = ({ method, url }) => (method === "POST" && refused.test(url) ? answer() : undefined)
  for (let pass = 0; pass < 4; pass++) {
    expect(await reconciler.pass()).toMatchObject({ open: 2, unrecoverable: 0 })
    expect(reconciler.state.problem).toMatch(problem)
  }
  // the older event's
  refused = /1000.attempts$/
  const next = await restarted()
  await next.pass()
  expect(await next.pass()).toMatchObject({ open: 1, ids: { recovered: ["b"] } })
  hook.before = () => undefined
  expect(await next.pass()).toMatchObject({ open: 0, recovered: 2 })
  expect(next.state.problem).toBeUndefined()
})

test.each<[string, (hook: GitHubHook) => Response | Promise<undefined>]>([
  ["the connection breaks", (hook) => hook.restart()],
  ["a gateway gets none", () => new Response(null, { status: 504 })],
])("a request whose answer is lost, since %s, is an attempt", async (_, answer) => {
  const { reconciler, hook, endpoint, asked } = await start()
  endpoint.status = 503
  await hook.send("a")
  hook.before = ({ method }) => (method === "POST" ? answer(hook) : undefined)
  for (const open of [1, 1, 0, 0])
    expect(await reconciler.pass()).toMatchObject({ missing: 1, open, unrecoverable: 1 - open })
  expect(asked()).toBe(3)
})

test("a delivery that the sender does not have any more is asked for three times, and reported", async () => {
  const { reconciler, hook, endpoint } = await start()
  endpoint.status = 503
  await hook.send("a")
  hook.before = ({ method }) => (method === "POST" ? new Response(null, { status: 404 }) : undefined)
  for (const open of [1, 1, 0])
    expect(await reconciler.pass()).toMatchObject({ open, unrecoverable: 1 - open })
})

test("what is open after an outage longer than the window is asked for, and its hour certified then", async () => {
  const certificates: Certificate[] = []
  const { reconciler, hook, endpoint } = await start({
    windowMs: HOUR_MS,
    certified: async (it) => void certificates.push(it),
  })
  hook.deliveredAgoMs = 7 * HOUR_MS
  endpoint.status = 503
  endpoint.problem = "the broker is down"
  await hook.send("a")
  await reconciler.pass({ sinceMs: Date.now() - 9 * HOUR_MS })
  expect(await reconciler.pass()).toMatchObject({ listed: 1, open: 1 })
  const withoutIts = certificates.splice(0).length
  hook.deliveredAgoMs = 5000
  endpoint.status = 200
  endpoint.problem = undefined
  expect(await reconciler.pass()).toMatchObject({ open: 0, recovered: 1 })
  expect(withoutIts).toBe(7)
  expect(certificates).toMatchObject([{ listed: 1, recovered: 1, revision: 1 }])
})

test("an event that was given up after an outage of many windows is not taken for a new one by its redeliveries", async () => {
  const { reconciler, hook, endpoint, asked } = await start({ windowMs: HOUR_MS })
  hook.deliveredAgoMs = 9 * HOUR_MS
  endpoint.status = 503
  await hook.send("a")
  hook.deliveredAgoMs = 5000
  await reconciler.pass({ sinceMs: Date.now() - 10 * HOUR_MS })
  for (let pass = 0; pass < 4; pass++) await reconciler.pass()
  expect(asked()).toBe(3)
})

test("nothing is asked for while the pipeline accepts no events, and it costs no attempt", async () => {
  const { reconciler, hook, endpoint, asked } = await start()
  endpoint.status = 503
  await hook.send("a")
  endpoint.problem = "the broker is down"
  for (let pass = 0; pass < 4; pass++)
    expect(await reconciler.pass()).toMatchObject({ open: 1, unrecoverable: 0 })
  expect(asked()).toBe(0)
  endpoint.problem = undefined
  endpoint.status = 200
  expect(await reconciler.pass()).toMatchObject({ open: 0, recovered: 1 })
})

test("a dry run asks for nothing, and certifies nothing", async () => {
  const certificates: Certificate[] = []
  const { reconciler, hook, endpoint, asked } = await start({
    certified: async (it) => void certificates.push(it),
  })
  endpoint.status = 503
  await hook.send("a")
  expect(await reconciler.pass({ isDryRun: true })).toMatchObject({ open: 1 })
  expect([asked(), certificates]).toEqual([0, []])
})

test("what is listed twice counts once, and is asked for once", async () => {
  const { reconciler, hook, endpoint, asked } = await start()
  hook.doubles = true
  await hook.send("a")
  endpoint.status = 503
  await hook.send("b")
  endpoint.status = 200
  expect(await reconciler.pass()).toMatchObject({ listed: 2, missing: 1, recovered: 1 })
  expect(asked()).toBe(1)
})

test("what is listed only after a complete pass is found by the next one, although the window is shorter", async () => {
  // the machine may be too busy to list within the sender's latency
  setSystemTime(new Date())
  const { reconciler, hook, endpoint } = await start({ windowMs: 100 })
  hook.deliveredAgoMs = 100
  endpoint.status = 503
  let isListed = false
  hook.before = ({ url }) => (url.includes("/deliveries") && !isListed ? Response.json([]) : undefined)
  await hook.send("a")
  endpoint.status = 200
  expect(await reconciler.pass()).toMatchObject({ listed: 0 })
  isListed = true
  expect(await reconciler.pass()).toMatchObject({ listed: 1, recovered: 1 })
})

test("an hour is certified once, again where a late listing changes it, and again where its record failed", async () => {
  const certificates: Certificate[] = []
  let fails = true
  const certified = async (it: Certificate): Promise<void> => {
    certificates.push(it)
    if (fails) throw new Error("no broker")
  }
  const { reconciler, hook } = await start({ certified })
  await expect(reconciler.pass()).rejects.toThrow("no broker")
  fails = false
  const [failed] = certificates.splice(0)
  await reconciler.pass()
  const first = certificates.splice(0)
  expect(first[0]).toEqual(failed!)
  expect(new Set(first.map((it) => it.from)).size).toBe(first.length)
  await reconciler.pass()
  expect(certificates).toEqual([])
  hook.deliveredAgoMs = 1.5 * HOUR_MS
  await hook.send("late")
  await reconciler.pass()
  expect(certificates).toMatchObject([{ revision: 2, listed: 1, accounted: { accepted: 1 } }])
})

test.each([2, -2])("a sender whose clock differs by %d hours is compared by its own time", async (hours) => {
  const { reconciler, hook, endpoint } = await start({ windowMs: HOUR_MS })
  hook.aheadMs = hours * HOUR_MS
  endpoint.status = 503
  await hook.send("a")
  endpoint.status = 200
  expect(await reconciler.pass()).toMatchObject({ listed: 1, missing: 1, recovered: 1 })
})

test("a pass that was interrupted is continued at its page by the next process", async () => {
  const { reconciler, hook, restarted } = await start()
  hook.pageSize = 1
  for (const guid of ["a", "b", "c"]) await hook.send(guid)
  const cursors: (string | null)[] = []
  let fails = true
  hook.before = ({ url }) => {
    if (!url.includes("/deliveries")) return undefined
    cursors.push(new URL(url).searchParams.get("cursor"))
    return fails && cursors.length > 2 ? new Response(null, { status: 500 }) : undefined
  }
  await expect(reconciler.pass()).rejects.toMatchObject({ code: "unavailable" })
  fails = false
  const [, , interrupted] = cursors.splice(0)
  expect(await (await restarted()).pass()).toMatchObject({ listed: 3, accounted: { accepted: 3 } })
  expect(cursors).toEqual([interrupted!])
})

test("a list whose page the sender has forgotten is read anew", async () => {
  const { reconciler, hook } = await start()
  hook.pageSize = 1
  for (const guid of ["a", "b", "c"]) await hook.send(guid)
  let forgets = true
  hook.before = ({ url }) => {
    if (!forgets || !url.includes("cursor")) return undefined
    forgets = false
    return new Response(null, { status: 422 })
  }
  expect(await reconciler.pass()).toMatchObject({ listed: 3, accounted: { accepted: 3 } })
  expect(hook.requests.filter((it) => it.endsWith("/deliveries"))).toHaveLength(5)
})

test("an endpoint that is disabled, or leads elsewhere, is reported, and enabled only when told", async () => {
  const { reconciler, hook, api } = await start()
  const { url } = hook
  hook.active = false
  hook.url = "https://elsewhere.example/hook"
  await reconciler.pass()
  expect(reconciler.state.endpoint).toMatch(/is disabled.* and sends to https:\/\/elsewhere.example\/hook/)
  expect(hook.active).toBe(false)
  hook.url = url
  await api.enable()
  expect(hook.active).toBe(true)
  await reconciler.pass()
  expect(reconciler.state.endpoint).toBeUndefined()
})

test("an hour with events that the sender still tries is certified again once they have ended, however long that takes", async () => {
  const stack = new AsyncDisposableStack()
  opened.push(stack)
  const folder = stack.use(temporaryFolder())
  const location = ledgerIn(folder.path, "paddle")
  const ledger = stack.adopt(new Ledger(location, pino({ level: "silent" })), (it) => it.close())
  const hourMs = Math.floor(Date.now() / HOUR_MS - 50) * HOUR_MS
  const nowMs = hourMs + 48 * HOUR_MS
  const list = (...statuses: string[]) => {
    const data = statuses.map((status, n) => ({
      id: `ntf_${n}`,
      status,
      occurred_at: new Date(hourMs).toISOString(),
      payload: { event_id: `evt_${n}` },
    }))
    const bytes = Buffer.from(JSON.stringify({ data, meta: { pagination: { has_more: false } } }))
    return ledger.do("page", "paddle", { bytes, link: null }, { startedMs: nowMs, fromMs: hourMs, next: "" })
  }
  const due = () => ledger.do("due", hourMs, nowMs, hourMs + HOUR_MS, 3)
  await list("delivered", "needs_retry")
  const [first] = await due()
  expect(first).toMatchObject({ listed: 2, pending: 1, revision: 1 })
  await ledger.do("certify", first!)
  await ledger.do("trim", 0, nowMs)
  expect(await due()).toEqual([])
  await list("delivered", "delivered")
  expect(await due()).toMatchObject([{ listed: 2, pending: 0, accounted: { accepted: 2 }, revision: 2 }])
})
