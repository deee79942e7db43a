import { describe, expect, test } from "bun:test"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type { ReplayOverview } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests, type RunningHookline } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { Receiver } from "../support/receiver.ts"
import { hasRedis, startRedis } from "../support/redis.ts"

// Three replicas that can replay one log, which a fourth process has.

const COUNT = 4
const kafka = await freePort()
const log = sharedByTests(async () => {
  const api = await AdminApi.startInProcess(`[connection:log]
directory = log
kafka_listen = 127.0.0.1:${kafka}
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = 127.0.0.1:0
`)
  for (let n = 0; n < COUNT; n++) expect(await api.send("webhooks", {}, `{"n":${n}}`)).toBe(200)
  return api
})

interface Replicas extends AsyncDisposable {
  /** The first is one that can be killed. */
  readonly apis: readonly [AdminApi<RunningHookline>, AdminApi, AdminApi]
  readonly places: readonly string[]
  readonly receiver: Receiver
}

async function startReplicas(service = ""): Promise<Replicas> {
  await log.get("overview")
  const receiver = new Receiver()
  const ports = await Promise.all([freePort(), freePort(), freePort()] as const)
  const places = ports.map((port) => `127.0.0.1:${port}`)
  const configuration = (port: number): string => `[connection:shared]
bootstrap_servers = 127.0.0.1:${kafka}
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = 127.0.0.1:${port}
replicas = ${places.join(", ")}
replicas_token = obviously-fake-token-of-replicas
replay_urls = *
${service}`
  const [first, second, third] = ports.map(configuration) as [string, string, string]
  const apis = await Promise.all([
    AdminApi.start(first),
    AdminApi.startInProcess(second),
    AdminApi.startInProcess(third),
  ] as const)
  for (const api of apis)
    for (;;) {
      const { replicas } = await api.get<Overview>("overview")
      if (replicas.length === 2 && replicas.every(({ problem }) => problem === null)) break
      await Bun.sleep(50)
    }
  return {
    apis,
    places,
    receiver,
    async [Symbol.asyncDispose]() {
      for (const api of apis) await api[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

const requestTo = (url: string) => ({
  from: { connection: "shared", topic: "webhooks" },
  to: { url },
  rate: 5,
})

/** The row of a replay in the list of the replica that runs it, once it has ended. */
async function ended(api: AdminApi, id: string): Promise<ReplayOverview> {
  for (;;) {
    const replay = await api.get<ReplayOverview>(`replays/${id}`)
    if (replay.ended_at !== null) return replay
    await Bun.sleep(20)
  }
}

/** Starts one replay on all replicas at once. @returns the one that runs it, and the answers of the others */
async function startOnAll({ apis }: Replicas, url: string) {
  const answers = await Promise.all(
    apis.map(async (api, at) => {
      const response = await api.fetch("replays", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(requestTo(url)),
      })
      return { at, status: response.status, body: (await response.json()) as { id: string; detail: string } }
    }),
  )
  const [holder, ...more] = answers.filter(({ status }) => status === 200)
  expect(more).toEqual([])
  return { holder: holder!, others: answers.filter(({ status }) => status !== 200) }
}

async function runsOnceOnEach(started: Replicas): Promise<void> {
  const { apis, places, receiver } = started
  for (let round = 1; round <= 5; round++) {
    const url = `${receiver.url}?round=${round}`
    const { holder, others } = await startOnAll(started, url)
    for (const { status, body } of others) {
      expect([status, body.detail]).toEqual([
        409,
        expect.stringMatching(
          new RegExp(
            `^\\S+ \\(${places[holder.at]}\\) replays this topic to this target since 20\\S+Z; cancel`,
          ),
        ),
      ])
    }
    const done = await ended(apis[holder.at]!, holder.body.id)
    expect(done).toMatchObject({ state: "done", replayed: COUNT })
    expect(receiver.offsets.length).toBe(COUNT * round)
  }
}

describe("without a Redis", () => {
  const it = sharedByTests(() => startReplicas())

  test("a replay that is started on three replicas at once runs once, and the others say where", () =>
    runsOnceOnEach(it))

  test("replays to other targets run meanwhile; one whose replica was killed is started on another", async () => {
    const [a, b] = it.apis
    it.receiver.answer = () => new Response(null, { status: 503 })
    const url = `${it.receiver.url}?killed`
    await a.post("replays", requestTo(url))
    const own = await a.refused("replays", requestTo(url))
    expect(own).toEqual([409, expect.stringMatching(/^\S+ \(this replica\) replays this topic/)])
    const { id } = await b.post<ReplayOverview>("replays", requestTo(`${it.receiver.url}?another`))
    await b.post(`replays/${id}/cancel`)
    expect((await b.refused("replays", requestTo(url)))[0]).toBe(409)
    a.running.signal("SIGKILL")
    await a.running.exited
    it.receiver.answer = () => new Response()
    const taken = await b.post<ReplayOverview>("replays", requestTo(url))
    expect(await ended(b, taken.id)).toMatchObject({ state: "done", replayed: COUNT })
  })
})

describe.skipIf(!hasRedis())("with the Redis of [service]", () => {
  const redis = sharedByTests(() => startRedis())
  const it = sharedByTests(() => startReplicas(`[service]\nredis = ${redis.url}\n`))
  const keys = async (): Promise<readonly string[]> =>
    (await redis.send("KEYS", "hookline:replay:*")) as readonly string[]

  test("a replay that is started on three replicas at once runs once, and the others say where", async () => {
    await runsOnceOnEach(it)
    expect(await keys()).toEqual([])
  })

  test("a replay ends when its lease is another's, and can be started once the lease of a killed replica has expired", async () => {
    const [a, b] = it.apis
    it.receiver.answer = () => new Response(null, { status: 503 })
    const request = requestTo(`${it.receiver.url}?held`)
    const lost = await a.post<ReplayOverview>("replays", request)
    const [key] = (await keys()) as [string]
    await redis.send("SET", key, "another's", "PX", "30000")
    expect(await ended(a, lost.id)).toMatchObject({
      state: "failed",
      error: expect.stringContaining("another process of the service may have taken over"),
    })
    await redis.send("DEL", key)
    await a.post("replays", request)
    a.running.signal("SIGKILL")
    await a.running.exited
    expect((await b.refused("replays", request))[0]).toBe(409)
    const leftMs = Number(await redis.send("PTTL", key))
    expect(leftMs).toBeGreaterThan(0)
    expect(leftMs).toBeLessThanOrEqual(30_000)
    await redis.send("PEXPIRE", key, "1")
    it.receiver.answer = () => new Response()
    const { id } = await b.post<ReplayOverview>("replays", request)
    expect(await ended(b, id)).toMatchObject({ state: "done", replayed: COUNT })
  })

  test("while the Redis is down no replay begins", async () => {
    await redis.kill()
    const [status, detail] = await it.apis[1]!.refused("replays", requestTo(`${it.receiver.url}?down`))
    expect([status, detail]).toEqual([
      503,
      expect.stringContaining("it is not known whether another replica runs this replay: redis://"),
    ])
    await redis.start()
  })
})
