import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  deduplicator,
  embeddedConnection,
  enricher,
  Pipeline,
  Rejected,
  validator,
  webHookSource,
} from "../../src/index.ts"
import { LATE_MS } from "../support/findings.ts"
import { reload, startHookline, temporaryFolder } from "../support/hookline.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import { valuesInLog } from "../support/log-values.ts"
import { freePort } from "../support/ports.ts"
import { hasRedis, startRedis, type OwnRedis } from "../support/redis.ts"

/** Long enough for what a busy machine does meanwhile. */
const DEADLINE_MS = 5000

describe.skipIf(!hasRedis())("two replicas on one Redis", () => {
  const folder = temporaryFolder()
  let redis: OwnRedis
  let replicas: Replica[]
  let tests = 0
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()))
    await redis[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const start = async (options: { deliveryTimeoutMs?: number; url?: string } = {}): Promise<void> => {
    await Promise.all(replicas?.map((replica) => replica.stop()) ?? [])
    const home = join(folder.path, String(++tests))
    const { deliveryTimeoutMs = 5000, url = redis.url } = options
    replicas = await Promise.all(
      ["a", "b"].map((name) => startReplica({ directory: join(home, name), store: url, deliveryTimeoutMs })),
    )
    await Promise.all(replicas.map((replica) => replica.isReady(true)))
  }
  beforeEach(async () => {
    await redis.send("FLUSHALL")
  })
  const published = async (): Promise<string[]> =>
    (await Promise.all(replicas.map((replica) => replica.published()))).flat()

  test("of one event that comes to both many times at once, one record is published, and all are answered 200", async () => {
    await start()
    const keys = Array.from({ length: 10 }, (_, n) => `key-${n}`)
    const statuses = await Promise.all(
      keys.flatMap((key) => Array.from({ length: 8 }, (_, n) => replicas[n % 2]!.post(key))),
    )
    expect(statuses).toEqual(statuses.map(() => 200))
    expect((await published()).toSorted()).toEqual(keys)
    expect(await Promise.all(replicas.map((replica) => replica.post("key-3")))).toEqual([200, 200])
    expect(await published()).toHaveLength(10)
  })

  test("a duplicate at the other replica waits for the first one's answer", async () => {
    await start()
    const [a, b] = replicas as [Replica, Replica]
    const release = a.hold()
    const first = a.post("slow")
    await a.holds()
    const second = b.post("slow")
    const third = a.post("slow")
    const waiting = (): Promise<number[]> =>
      Promise.all([a, b].map((it) => it.metric(`hookline_deduplicator_waiting_events{store="${redis.url}"}`)))
    while (!Bun.deepEquals(await waiting(), [1, 1])) await Bun.sleep(5)
    const all = Promise.all([first, second, third])
    expect(await Promise.race([all, Bun.sleep(200).then(() => "waiting")])).toBe("waiting")
    release("publish")
    expect(await all).toEqual([200, 200, 200])
    expect([await a.published(), await b.published()]).toEqual([["slow"], []])
    expect(await waiting()).toEqual([0, 0])
  })

  test("when the first one is not published the other replica publishes the event that waited there", async () => {
    await start()
    const [a, b] = replicas as [Replica, Replica]
    const release = a.hold()
    const first = a.post("refused")
    await a.holds()
    const second = b.post("refused")
    release("refuse")
    expect(await Promise.all([first, second])).toEqual([422, 200])
    expect([await a.published(), await b.published()]).toEqual([[], ["refused"]])
  })

  test("who waits is answered 503 at the own deadline, and a claim is over a while after its event's deadline", async () => {
    await start({ deliveryTimeoutMs: DEADLINE_MS })
    const [a, b] = replicas as [Replica, Replica]
    const release = a.hold()
    const first = a.post("stuck")
    await a.holds()
    const [key] = (await redis.send("KEYS", "hookline:dedupe:*")) as string[]
    const claim = (await redis.send("GET", key!)) as string
    expect(await redis.send("PTTL", key!)).toBeWithin(1, DEADLINE_MS + 5000 + 1)
    release("refuse")
    expect(await first).toBe(422)

    // as a replica leaves it that died
    await redis.send("SET", key!, claim, "PX", "60000")
    const began = performance.now()
    expect(await b.post("stuck")).toBe(503)
    expect(performance.now() - began).toBeWithin(DEADLINE_MS - 50, DEADLINE_MS + LATE_MS)
    await redis.send("PEXPIRE", key!, "1")
    expect(await b.post("stuck")).toBe(200)
    expect(await a.post("stuck")).toBe(200)
    expect(await published()).toEqual(["stuck"])
  })

  test("Redis down is 503 at once and not ready; back, what was published is still known", async () => {
    await start()
    const [a, b] = replicas as [Replica, Replica]
    expect(await a.post("before")).toBe(200)
    await redis.kill()
    try {
      expect(await Promise.all([a.isReady(false), b.isReady(false)])).toEqual([true, true])
      expect(await Promise.all([a.post("before"), b.post("meanwhile")])).toEqual([503, 503])
    } finally {
      await redis.start()
    }
    await Promise.all([a.isReady(true), b.isReady(true)])
    expect(await Promise.all([a.post("meanwhile"), b.post("before")])).toEqual([200, 200])
    expect((await published()).toSorted()).toEqual(["before", "meanwhile"])
  })

  test("Redis that stands still is 503 within the deadline, and soon at once", async () => {
    await start({ deliveryTimeoutMs: 600 })
    const [a, b] = replicas as [Replica, Replica]
    redis.pause()
    try {
      const began = performance.now()
      expect(await Promise.all([a.post("still"), b.post("still")])).toEqual([503, 503])
      expect(performance.now() - began).toBeLessThan(600 + LATE_MS)
      await Promise.all([a.isReady(false), b.isReady(false)])
    } finally {
      redis.resume()
    }
    await Promise.all([a.isReady(true), b.isReady(true)])
    expect(await Promise.all([a.post("still"), b.post("still")])).toEqual([200, 200])
    expect(await published()).toEqual(["still"])
  })

  test("an event that was published while Redis went away is answered 200, counted, and known when it is back", async () => {
    await start()
    const [a, b] = replicas as [Replica, Replica]
    const release = a.hold()
    const first = a.post("meanwhile")
    await a.holds()
    await redis.kill()
    release("publish")
    try {
      expect(await first).toBe(200)
      expect(await a.metric('hookline_undeduplicated_events_total{pipeline="hooks",reason="unmarked"}')).toBe(
        1,
      )
    } finally {
      await redis.start()
    }
    await Promise.all([a.isReady(true), b.isReady(true)])
    expect(await Promise.all([a.post("meanwhile"), b.post("meanwhile")])).toEqual([200, 200])
    expect(await published()).toEqual(["meanwhile"])
  })

  test("a mark is kept for the window", async () => {
    await start()
    await replicas[0]!.post("kept")
    const [key] = (await redis.send("KEYS", "hookline:dedupe:*")) as string[]
    expect(await redis.send("PTTL", key!)).toBeWithin(3_600_000 - 60_000, 3_600_001)
  })
})

const conf = (url: string, more = ""): string => `
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
[pipeline:hooks:Deduplicator]
key = json:/id
store = ${url}
${more}
[pipeline:hooks:BrokerSink]
topic = hooks
`

describe.skipIf(!hasRedis())("a Redis by TLS", () => {
  test("is used when the CA signed its certificate; otherwise it is not, and that is said", async () => {
    using folder = temporaryFolder()
    const certificates = await makeCertificates(folder.path)
    await using redis = await startRedis({ tls: certificates })
    await using running = await startHookline(conf(redis.url, `store_ca = ${certificates.otherCa}`), {
      folder: folder.path,
    })
    const post = async (): Promise<number> =>
      (await fetch(running.urls["hooks"]!, { method: "POST", body: '{"id":1}' })).status
    try {
      const down = await running.logged(({ msg }) => msg.includes("store is down"))
      expect(down.msg).toEndWith(
        "or has a certificate that is not trusted (store_ca, or redis_ca in [service])",
      )
      expect(await post()).toBe(503)
      expect(await reload(running, folder.path, conf(redis.url))).toBe("reloaded")
      expect(await post()).toBe(503)
      const right = conf(redis.url, `store_ca = ${certificates.ca}`)
      expect(await reload(running, folder.path, right)).toBe("reloaded")
      await running.logged(({ msg }) => msg.includes("store is connected"))
      expect([await post(), await post()]).toEqual([200, 200])
      expect(await redis.send("KEYS", "hookline:dedupe:*")).toHaveLength(1)
    } finally {
      await running.stop()
    }
    expect(running.log.filter(({ reason }) => reason === "duplicate")).toHaveLength(1)
  })
})

describe.skipIf(!hasRedis())("a Redis with a password", () => {
  const password = "obviously/fake:p@ss word"
  const spelled = ["obviously", encodeURIComponent(password)]

  test("takes what the URL says; a wrong one is not ready, and neither is ever printed", async () => {
    using folder = temporaryFolder()
    await using redis = await startRedis({ password })
    for (const [url, status] of [
      [redis.url, 200],
      [redis.url.replace("fake", "obviously-wrong"), 503],
    ] as const) {
      await using running = await startHookline(conf(url), { folder: folder.path })
      try {
        const { msg } = await running.logged(
          ({ msg }) => msg.includes("connected") || msg.includes("store is down"),
        )
        expect(msg.includes("refuses the user or password")).toBe(status === 503)
        const answer = await fetch(running.urls["hooks"]!, { method: "POST", body: '{"id":1}' })
        expect(answer.status).toBe(status)
        const readyz = await fetch(`${running.adminUrl}/readyz`)
        const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
        expect(readyz.status).toBe(status)
        const told = (await answer.text()) + (await readyz.text()) + metrics + running.output()
        expect(told).toContain("redis://127.0.0.1:")
        for (const secret of spelled) expect(told).not.toContain(secret)
      } finally {
        await running.stop()
      }
      for (const secret of spelled) expect(running.output()).not.toContain(secret)
    }
  })
})

interface Replica {
  post(key: string): Promise<number>
  /** Holds the next event behind the Deduplicator until its end is told. */
  hold(): (end: "publish" | "refuse") => void
  /** Resolves when an event is held. */
  holds(): Promise<void>
  /** Waits until it says of itself that it is ready, or not. */
  isReady(ready: boolean): Promise<true>
  metric(name: string): Promise<number>
  published(): Promise<string[]>
  stop(): Promise<void>
}

async function startReplica(options: {
  directory: string
  store: string
  deliveryTimeoutMs: number
}): Promise<Replica> {
  const { directory, store, deliveryTimeoutMs } = options
  let held: PromiseWithResolvers<"publish" | "refuse"> | undefined
  const arrived = Promise.withResolvers<void>()
  const admin = { host: "127.0.0.1", port: await freePort() }
  const app = new Application({ service: { logLevel: "silent" }, admin: { listen: admin } })
  app.registerConnection("log", embeddedConnection({ directory, deliveryTimeout: deliveryTimeoutMs }))
  app.addPipeline(
    new Pipeline("hooks", {
      source: webHookSource({ host: "127.0.0.1", port: 0, path: "/" }),
      processors: [
        validator(),
        deduplicator({ key: "json:/id", store, window: 3_600_000 }),
        async (event) => {
          if (held === undefined) return event
          const { promise } = held
          held = undefined
          arrived.resolve()
          return (await promise) === "refuse" ? new Rejected(422, "unwanted", "Not this one.") : event
        },
        enricher(),
      ],
      sink: brokerSink({ topic: "hooks" }),
    }),
  )
  const { listening } = await app.start()
  const adminUrl = `http://127.0.0.1:${admin.port}`
  return {
    post: async (key) => (await fetch(listening[0]!.url, { method: "POST", body: `{"id":"${key}"}` })).status,
    hold: () => (held = Promise.withResolvers()).resolve,
    holds: () => arrived.promise,
    async isReady(ready) {
      while ((await fetch(`${adminUrl}/readyz`)).ok !== ready) await Bun.sleep(10)
      return true
    },
    async metric(name) {
      const text = await (await fetch(`${adminUrl}/metrics`)).text()
      return Number(
        text
          .split("\n")
          .find((line) => line.startsWith(name))
          ?.slice(name.length),
      )
    },
    async published() {
      const values = await valuesInLog(directory, "hooks")
      return values.map((value) => (JSON.parse(value) as { id: string }).id)
    },
    stop: () => app.stop(),
  }
}
