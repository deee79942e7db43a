import { afterEach, expect, test } from "bun:test"
import pino from "pino"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { GITHUB_ENDPOINT, GITHUB_TOKEN, GitHubHook } from "../../test/support/github-hook.ts"
import { ledgerIn } from "./ledger-database.ts"
import { Ledger } from "./ledger.ts"
import type { Listing } from "./listing.ts"
import { LISTINGS } from "./listings.ts"
import { Reconciler, type Target } from "./reconciler.ts"
import { SenderApi } from "./sender-api.ts"

/** The row as it is, with a sender that is quick. */
const QUICK: Listing = { ...LISTINGS["github"]!, latencyMs: 120, perHour: 3_600_000 }
const HOUR_MS = 3_600_000

const opened: AsyncDisposableStack[] = []
afterEach(async () => {
  for (const it of opened.splice(0)) await it.disposeAsync()
})

/** A hook of GitHub's, an endpoint that may be down, and a reconciler. */
async function start({ listing = QUICK, windowMs = 3 * HOUR_MS } = {}) {
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
  const hook = stack.use(new GitHubHook(`http://127.0.0.1:${server.port}/hook`))
  const target: Target = {
    problem: async () => endpoint.problem,
    inject: undefined,
    isAt: (url) => url === hook.url,
  }
  const log = pino({ level: "silent" })
  const stopping = new AbortController()
  const open = () => {
    const ledger = new Ledger(ledgerIn(folder.path, "github"), log)
    const access = { credentials: GITHUB_TOKEN, api: hook.api, endpoint: GITHUB_ENDPOINT }
    const api = new SenderApi(listing, access, stopping.signal, { first: 5, longest: 20 })
    const reconciler = new Reconciler({
      id: "github",
      pipeline: "hooks",
      provider: "github",
      api,
      ledger,
      index: undefined,
      target,
      windowMs,
      everyMs: 1000,
      certified: async () => {},
      log,
      signal: stopping.signal,
    })
    return { ledger, reconciler, api }
  }
  const running = open()
  stack.defer(() => running.ledger.close())
  stack.defer(() => stopping.abort())
  return { ...running, hook, endpoint, got, open, stopping }
}

const past = (ms: number): Promise<void> => Bun.sleep(ms)

test("events that failed are delivered again, and all that was sent is accounted for", async () => {
  const { reconciler, hook, endpoint, got } = await start()
  await hook.send("a")
  endpoint.status = 503
  for (const guid of ["b", "c"]) await hook.send(guid)
  endpoint.status = 400
  await hook.send("d")
  endpoint.status = 200
  await past(150)
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
