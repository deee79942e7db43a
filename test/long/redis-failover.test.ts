import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { SharedReconcile } from "../../src/extensions/reconcile/shared-reconcile.ts"
import { hookline, startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import { until } from "../support/kafka-options.ts"
import { valuesInLog } from "../support/log-values.ts"
import { freePort } from "../support/ports.ts"
import { portOf, startSentinels } from "../support/redis-sentinels.ts"
import { hasRedis, startRedis, tlsFlags, type RedisTls } from "../support/redis.ts"

const NODES = 3
const WORKERS = 8

/** Three masters that share the slots. */
async function startCluster(tls?: RedisTls, more: readonly string[] = []) {
  const args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", ...more]
  if (tls !== undefined) args.push("--tls-cluster", "yes")
  const nodes = await Promise.all(
    Array.from({ length: NODES }, async () =>
      startRedis({ tls, args: [...args, "--cluster-port", `${await freePort()}`] }),
    ),
  )
  const addresses = nodes.map((it) => `127.0.0.1:${portOf(it)}`)
  const cli = async (...command: string[]): Promise<void> => {
    const args = ["redis-cli", ...tlsFlags(tls), "--cluster", ...command, "--cluster-yes"]
    const child = Bun.spawn(args, { stdout: "pipe", stderr: "pipe" })
    const said = await new Response(child.stdout).text()
    if ((await child.exited) !== 0) throw new Error(said)
  }
  await cli("create", ...addresses)
  const ids = await Promise.all(nodes.map(async (it) => String(await it.send("CLUSTER", "MYID"))))
  return {
    nodes,
    url: `redis+cluster://${addresses.slice(0, 2).join(",")}`,
    /** With the credentials of a user. */
    securedUrl: (user: string) => `rediss+cluster://${user}@${addresses.slice(0, 2).join(",")}`,
    /** Moves slots of one node to another. */
    move: (from: number, to: number, slots: number) =>
      cli(
        "reshard",
        addresses[0]!,
        "--cluster-from",
        ids[from]!,
        "--cluster-to",
        ids[to]!,
        "--cluster-slots",
        `${slots}`,
      ),
    async [Symbol.asyncDispose]() {
      for (const it of nodes) await it[Symbol.asyncDispose]()
    },
  }
}

const configuration = (url: string, ca?: string): string => `
${ca === undefined ? "" : `[service]\nredis = ${url}\nredis_ca = ${ca}`}
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
${ca === undefined ? "" : "rate_limit = 100000"}
[pipeline:hooks:Deduplicator]
key = json:/id
store = ${url}
${ca === undefined ? "" : `store_ca = ${ca}`}
[pipeline:hooks:BrokerSink]
topic = hooks
`

/** Two replicas whose sender sends each event to both of them, at once and again until each has answered 200. */
class LoadedReplicas implements AsyncDisposable {
  acknowledged = 0
  refused = 0
  /** The longest time from a 503 to the next 200 of a replica. */
  longestMs = 0
  readonly #folder: string
  readonly #running: readonly RunningHookline[]
  readonly #refusedSinceMs = new Map<RunningHookline, number>()
  #isStopped = false
  readonly #working: readonly Promise<void>[]

  private constructor(folder: string, running: readonly RunningHookline[]) {
    this.#folder = folder
    this.#running = running
    this.#working = Array.from({ length: WORKERS }, () => this.#work())
  }

  static async start(url: string, folder: string, ca?: string): Promise<LoadedReplicas> {
    const start = async (name: string): Promise<RunningHookline> => {
      const running = await startHookline(configuration(url, ca), { folder: join(folder, name) })
      await until("ready", async () => (await fetch(`${running.adminUrl}/readyz`)).ok)
      return running
    }
    return new LoadedReplicas(folder, await Promise.all(["a", "b"].map(start)))
  }

  /** Waits until this many more events are answered. */
  async more(events: number): Promise<void> {
    const enough = this.acknowledged + events
    await until(`${events} more`, async () => this.acknowledged >= enough)
  }

  /** @returns how many events are in no log, and how many more than once */
  async stop(): Promise<{ lost: number; doubled: number }> {
    this.#isStopped = true
    await Promise.all(this.#working)
    await this[Symbol.asyncDispose]()
    const logs = await Promise.all(
      ["a", "b"].map((it) => valuesInLog(join(this.#folder, it, "log"), "hooks")),
    )
    const ids = logs.flat().map((value) => (JSON.parse(value.toString()) as { id: number }).id)
    const distinct = new Set(ids).size
    return { lost: this.acknowledged - distinct, doubled: ids.length - distinct }
  }

  /** Their rate_limit is counted in the same Redis. */
  async sharesLimits(): Promise<void> {
    const isShared = ({ log }: RunningHookline): boolean => {
      const last = log.findLast(({ msg }) => msg.startsWith("rate limits are"))
      return last === undefined || last.msg === "rate limits are shared again"
    }
    await until("rate limits are shared", async () => this.#running.every(isShared))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running.map((it) => it.stop()))
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      const body = JSON.stringify({ id: crypto.randomUUID() })
      await Promise.all(this.#running.map((replica) => this.#post(replica, body)))
      this.acknowledged++
    }
  }

  async #post(replica: RunningHookline, body: string): Promise<void> {
    for (;;) {
      const { status } = await fetch(replica.urls["hooks"]!, { method: "POST", body })
      const since = this.#refusedSinceMs.get(replica)
      if (status === 200) {
        if (since !== undefined) this.longestMs = Math.max(this.longestMs, steadyMs() - since)
        this.#refusedSinceMs.delete(replica)
        return
      }
      expect(status).toBe(503)
      this.refused++
      if (since === undefined) this.#refusedSinceMs.set(replica, steadyMs())
      await Bun.sleep(20)
    }
  }
}

function print(what: string, { acknowledged, refused, longestMs }: LoadedReplicas, found: object): void {
  const counts = JSON.stringify({ acknowledged, refused, ...found })
  console.log(`${what}: ${counts}; the longest without a 200: ${(longestMs / 1000).toFixed(1)} s`)
}

const reconcile = (url: string): SharedReconcile =>
  new SharedReconcile({ url, name: "redis", ca: undefined, reconcile: "github" })

describe.skipIf(!hasRedis())("a Redis of several servers", () => {
  test("the master of Sentinels is killed under load: no event is lost, and only those whose keys were not copied are published twice", async () => {
    using folder = temporaryFolder()
    await using redis = await startSentinels(folder.path)
    await using replicas = await LoadedReplicas.start(redis.url, folder.path)
    await using shared = reconcile(redis.url)
    await shared.hold()
    await shared.attempt("event", 1)
    await replicas.more(200)
    const { refused } = replicas
    expect(refused).toBe(0)
    await redis.master.kill()
    await until("refused", async () => replicas.refused > 0)
    await until("it continues", async () => (await shared.attempt("event", 1).catch(() => 0)) > 1)
    await replicas.more(200)
    // it comes back as a replica, on which nobody may write
    await redis.master.start()
    await replicas.more(200)
    const found = await replicas.stop()
    print("the master of three servers with three Sentinels killed", replicas, found)
    expect(found.lost).toBe(0)
    // those in flight when it was killed, at most
    expect(found.doubled).toBeLessThanOrEqual(2 * WORKERS)
  })

  test("a Sentinel that is down prints nothing, and check does not wait for a master that hangs", async () => {
    using folder = temporaryFolder()
    await using redis = await startSentinels(folder.path)
    const text = configuration(redis.url.replace("/main", ",127.0.0.1:9/main"))
    const running = await startHookline(text, { folder: folder.path })
    await until("ready", async () => (await fetch(`${running.adminUrl}/readyz`)).ok)
    await running.stop()
    for (const line of running.output().trim().split("\n")) expect(line).toStartWith("{")
    // the only Sentinel left has no quorum for a failover
    for (const process of redis.processes.slice(1)) process.kill("SIGSTOP")
    redis.master.pause()
    const checked = await hookline(["check", "--connect", "-c", join(folder.path, "pipelines.conf")])
    expect([checked.status, checked.stdout + checked.stderr]).toEqual([
      69,
      expect.stringContaining("does not answer"),
    ])
  })

  test("slots of a Cluster move under load, and no event is refused; one of its masters is killed and comes back: none is lost or published twice", async () => {
    using folder = temporaryFolder()
    await using redis = await startCluster()
    await using replicas = await LoadedReplicas.start(redis.url, folder.path)
    await using shared = reconcile(redis.url)
    await shared.hold()
    await replicas.more(200)
    await redis.move(0, 1, 1000)
    await redis.move(2, 0, 1000)
    await shared.attempt("event", 1)
    expect(await shared.attempt("event", 1)).toBe(2)
    await replicas.more(200)
    expect(replicas.refused).toBe(0)
    await redis.nodes[1]!.kill()
    await until("refused", async () => replicas.refused > 0)
    await redis.nodes[1]!.start()
    await replicas.more(200)
    const found = await replicas.stop()
    print("2000 slots of a Cluster of three masters moved, and one killed and started", replicas, found)
    expect(found).toEqual({ lost: 0, doubled: 0 })
  })

  test("check --connect reports whether a Cluster or Sentinels can be reached", async () => {
    using folder = temporaryFolder()
    await using redis = await startCluster()
    const sentinel = `redis+sentinel://127.0.0.1:${await freePort()}/main`
    for (const [url, status, says] of [
      [redis.url, 0, `${redis.url} answers`],
      [sentinel, 69, `${sentinel} can't be reached`],
    ] as const) {
      const file = join(folder.path, "pipelines.conf")
      writeFileSync(file, configuration(url))
      const checked = await hookline(["check", "--connect", "-c", file])
      expect([checked.status, checked.stdout + checked.stderr]).toEqual([
        status,
        expect.stringContaining(says),
      ])
    }
  })

  const USER = "hookline"
  const USER_PASSWORD = "obviously-fake@user"
  /** With the permissions that docs/deduplication.md and docs/limits.md name. */
  const acl = (more: string): string[] => [
    "--user",
    ...`${USER} on >${USER_PASSWORD} ~hookline:* resetchannels ${more} +set +get +del +pexpire +eval +ping +hello`.split(
      " ",
    ),
    ..."+time +hmget +hset +zadd +zremrangebyscore +zcard +expire".split(" "),
  ]
  const login = `${USER}:${encodeURIComponent(USER_PASSWORD)}`

  test("by TLS, as a user with the documented permissions and with a password of the Sentinels, a master that is killed costs no event", async () => {
    using folder = temporaryFolder()
    const tls = await makeCertificates(join(folder.path, "tls"))
    await using redis = await startSentinels(folder.path, tls, acl("+subscribe"))
    await using replicas = await LoadedReplicas.start(redis.securedUrl(login), folder.path, tls.ca)
    await replicas.more(100)
    expect(replicas.refused).toBe(0)
    await redis.failOver()
    await replicas.more(100)
    expect(replicas.refused).toBeGreaterThan(0)
    await replicas.sharesLimits()
    const found = await replicas.stop()
    print("the same by TLS, with a user", replicas, found)
    expect(found.lost).toBe(0)
    expect(found.doubled).toBeLessThanOrEqual(2 * WORKERS)
  })

  test("by TLS, as a user with the documented permissions, slots of a Cluster move and no event is refused", async () => {
    using folder = temporaryFolder()
    const tls = await makeCertificates(join(folder.path, "tls"))
    await using redis = await startCluster(tls, acl("+cluster|slots +subscribe"))
    await using replicas = await LoadedReplicas.start(redis.securedUrl(login), folder.path, tls.ca)
    await replicas.more(100)
    await redis.move(0, 1, 300)
    await replicas.more(100)
    expect(replicas.refused).toBe(0)
    await replicas.sharesLimits()
    const found = await replicas.stop()
    print("slots of a Cluster moved by TLS, with a user", replicas, found)
    expect(found).toEqual({ lost: 0, doubled: 0 })
  })
})
