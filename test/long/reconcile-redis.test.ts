import { afterAll, beforeEach, describe, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import pino from "pino"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { whenAborted } from "../../src/clock/clock.ts"
import { HOUR_MS } from "../../src/extensions/reconcile/certificate.ts"
import { Ledger } from "../../src/extensions/reconcile/ledger-database.ts"
import { ledgerIn } from "../../src/extensions/reconcile/ledger-database.ts"
import { LISTINGS } from "../../src/extensions/reconcile/listings.ts"
import { Reconciler } from "../../src/extensions/reconcile/reconciler.ts"
import { SenderApi } from "../../src/extensions/reconcile/sender-api.ts"
import { OutcomeWriter } from "../../src/extensions/reconcile/outcome-index.ts"
import { SharedReconcile } from "../../src/extensions/reconcile/shared-reconcile.ts"
import { GITHUB_ENDPOINT, GITHUB_SECRET, GITHUB_TOKEN, GitHubHook } from "../support/github-hook.ts"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"
import { freePort } from "../support/ports.ts"
import { hasRedis, startRedis, type OwnRedis } from "../support/redis.ts"

const LEASE_MS = 5000

describe.skipIf(!hasRedis())("replicas that share a Redis", () => {
  let redis: OwnRedis
  const opened: AsyncDisposable[] = []
  beforeEach(async () => {
    redis ??= await startRedis()
    for (const it of opened.splice(0)) await it[Symbol.asyncDispose]()
    await redis.send("FLUSHALL")
  })
  afterAll(async () => {
    for (const it of opened) await it[Symbol.asyncDispose]()
    await redis?.[Symbol.asyncDispose]()
  })

  const open = (reconcile = "github"): SharedReconcile => {
    const place = { url: redis.url, name: "redis", ca: undefined, reconcile }
    const shared = new SharedReconcile(place, LEASE_MS)
    opened.push(shared)
    return shared
  }
  const locked = { code: "log_locked", message: "another process of the service reconciles" }

  test("one replica holds the lease, and another one after it has stopped", async () => {
    const [a, b] = [open(), open()]
    const held = await a.hold()
    await expect(b.hold()).rejects.toMatchObject(locked)
    await open("another").hold()
    // longer than the lease: it is renewed
    await Bun.sleep(2 * LEASE_MS)
    await expect(b.hold()).rejects.toMatchObject(locked)
    expect(held.aborted).toBe(false)
    await a[Symbol.asyncDispose]()
    await b.hold()
  })

  test("a replica is notified that another one has its lease", async () => {
    const held = await open().hold()
    const [key] = (await redis.send("KEYS", "*holder")) as string[]
    await redis.send("SET", key!, "another")
    await whenAborted(held)
  })

  test("without Redis a replica stops before its lease ends, and holds it again with Redis", async () => {
    const a = open()
    const held = await a.hold()
    const beganMs = performance.now()
    redis.pause()
    await whenAborted(held)
    expect(performance.now() - beganMs).toBeLessThan(LEASE_MS)
    redis.resume()
    await a.hold()
    await redis.kill()
    await expect(open().hold()).rejects.toMatchObject({ code: "unavailable" })
    await redis.start()
  })

  test("outcomes that one replica indexed while Redis was down are read by another one", async () => {
    const failures: unknown[] = []
    const writer = new OutcomeWriter(open(), HOUR_MS, (error) => failures.push(error))
    await redis.kill()
    writer.add("a", "accepted")
    while (failures.length === 0) await Bun.sleep(50)
    await redis.start()
    writer.add("b", "refused 400")
    const reader = open()
    const lines = async (): Promise<string> => {
      const read = Array.fromAsync(reader.read(Math.floor(Date.now() / HOUR_MS) - 1))
      return (await read.catch(() => [])).join("")
    }
    while ((await lines()) !== "accepted\ta\nrefused 400\tb\n") await Bun.sleep(50)
    expect(await Array.fromAsync(reader.read(Math.floor(Date.now() / HOUR_MS) + 1))).toEqual([])
    await writer.close()
  })

  test("of two replicas one has each event delivered again once, and the other one continues when it is killed", async () => {
    const ports = [await freePort(), await freePort()] as const
    const urls = ports.map((port) => `http://127.0.0.1:${port}/hooks`)
    await using hook = new GitHubHook(urls[0])
    hook.deliveredAgoMs = 300_000
    // half past by the sender's clock: no hour ends during the test, whose certificate event 4 would change
    hook.aheadMs = HOUR_MS / 2 - (Date.now() % HOUR_MS)
    for (const guid of ["1", "2", "3"]) await hook.send(guid)
    using folder = temporaryFolder()
    const replica = (name: string, port: number) =>
      startHookline(configuration(redis, hook, port), {
        folder: `${folder.path}/${name}`,
      })
    await using a = await replica("a", ports[0])
    const first = await a.logged(({ msg }) => msg === "reconciled")
    expect(first).toMatchObject({ recovered: 3, open: 0 })
    await using b = await replica("b", ports[1])
    const asked = (): number => hook.requests.filter((it) => it.startsWith("POST")).length
    expect(asked()).toBe(3)
    a.signal("SIGKILL")
    await a.exited
    await hook.send("4")
    hook.url = urls[1]!
    expect(await b.logged(({ msg }) => msg === "reconciled")).toMatchObject({ missing: 4, recovered: 4 })
    expect(asked()).toBe(4)
    // which hours were certified before, the first one left in Redis
    expect(b.log.filter(({ msg }) => msg === "certificate: nothing is missing")).toEqual([])
    await b.stop()
    const values = await Promise.all(["a", "b"].map((it) => valuesInLog(`${folder.path}/${it}/log`, "hooks")))
    const events = values.flat().map((value) => (JSON.parse(value) as { k: string }).k)
    expect(events.toSorted()).toEqual(["1", "2", "3", "4"])
  })

  test("a replica that can't open its ledger leaves reconciling to another one", async () => {
    const ports = [await freePort(), await freePort()] as const
    await using hook = new GitHubHook(`http://127.0.0.1:${ports[1]}/hooks`)
    hook.deliveredAgoMs = 300_000
    await hook.send("1")
    using folder = temporaryFolder()
    mkdirSync(`${folder.path}/a/log/reconcile-github.sqlite`, { recursive: true })
    await using a = await startHookline(configuration(redis, hook, ports[0]), { folder: `${folder.path}/a` })
    const problem = async (): Promise<string | null> => {
      const { reconciles } = (await (await fetch(`${a.adminUrl}/api/overview`)).json()) as {
        reconciles: readonly { problem: string | null }[]
      }
      return reconciles[0]!.problem
    }
    while ((await problem()) === null) await Bun.sleep(50)
    await using b = await startHookline(configuration(redis, hook, ports[1]), { folder: `${folder.path}/b` })
    expect(await b.logged(({ msg }) => msg === "reconciled")).toMatchObject({ recovered: 1, open: 0 })
  })

  test("an event that replicas have asked for three times is neither asked for again nor awaited", async () => {
    await using hook = new GitHubHook()
    hook.deliveredAgoMs = 300_000
    await hook.send("1")
    const shared = open()
    await shared.hold()
    for (const attempt of [1, 2, 3]) expect(await shared.attempt("1", 1)).toBe(attempt)
    using folder = temporaryFolder()
    const lines: string[] = []
    const add = (_fields: unknown, line: string): void => void lines.push(line)
    const { signal } = new AbortController()
    const access = { credentials: GITHUB_TOKEN, api: hook.api, endpoint: GITHUB_ENDPOINT }
    const ledger = new Ledger(ledgerIn(folder.path, "github"), pino({ level: "silent" }))
    const reconciler = new Reconciler({
      id: "github",
      provider: "github",
      api: new SenderApi(LISTINGS["github"]!, access, signal),
      ledger,
      index: undefined,
      shared,
      target: { problem: async () => undefined, inject: undefined, isAt: () => true },
      openLog: async () => openEmbeddedReader(`${folder.path}/log`),
      windowMs: HOUR_MS,
      everyMs: HOUR_MS,
      certified: async () => {},
      log: { info: add, warn: add, error: add } as never,
      signal,
    })
    // before its folder is removed: it compares its ledger with the log once more
    await using _ = { [Symbol.asyncDispose]: () => reconciler.close() }
    expect(await reconciler.pass()).toMatchObject({ missing: 1, open: 0, unrecoverable: 1 })
    expect(hook.requests.filter((it) => it.startsWith("POST"))).toEqual([])
    expect(lines).not.toContain("asked for missing events")
  })

  test("hookline reconcile ends once another process may reconcile", async () => {
    await using hook = new GitHubHook()
    hook.deliveredAgoMs = 300_000
    await hook.send("1")
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    hook.before = ({ method }) => void (method === "POST" && resolve())
    using folder = temporaryFolder()
    const file = `${folder.path}/pipelines.conf`
    await Bun.write(file, configuration(redis, hook, await freePort()))
    const ended = hookline(["reconcile", "github", "-c", file])
    await asked
    const [key] = (await redis.send("KEYS", "*holder")) as string[]
    await redis.send("SET", key!, "another")
    const { status, stderr } = await ended
    expect([status, stderr]).toEqual([
      69,
      expect.stringContaining("another process of the service may have taken over"),
    ])
  })
})

const configuration = (redis: OwnRedis, hook: GitHubHook, port: number): string => `
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /hooks
[pipeline:hooks:Verifier]
provider = github
secret = ${GITHUB_SECRET}
[pipeline:hooks:Deduplicator]
store = ${redis.url}
[pipeline:hooks:BrokerSink]
topic = hooks
${hook.section()}
every = 1s
`
