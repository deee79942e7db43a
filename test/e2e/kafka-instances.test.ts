import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type { CaptureSummary } from "../../src/admin/api/shapes.ts"
import { compare } from "../support/findings.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { folderOfTests, hookline, reload, startHookline, type RunningHookline } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import {
  instanceConf,
  overManyConnections,
  remembered,
  SECRET,
  type InstanceParts,
} from "../support/instances.ts"
import { until } from "../support/kafka-options.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { metricOf, sum } from "../support/metric-of.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { freePorts } from "../support/ports.ts"
import { hasRedis, startRedis } from "../support/redis.ts"
import { eventsInKafka, onKafka, serving } from "../support/webhook-service.ts"

const root = folderOfTests()
const kafka = hasKcat() ? await kafkaForTests() : undefined
const isLinux = process.platform === "linux"

/** The parts of so many instances that share a port. */
async function partsOf(count: number, more: Partial<InstanceParts> = {}): Promise<InstanceParts[]> {
  const [port, ...adminPorts] = await freePorts(1 + count)
  return adminPorts.map((adminPort) => ({ port: port!, adminPort, adminPorts, ...more }))
}

const post = async (port: number, path = "/webhook"): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: "{}" })).status

describe.skipIf(!isLinux)("a port that another process has", () => {
  const run = async (name: string, configuration: string) => {
    const file = join(root.make(name), "pipelines.conf")
    await Bun.write(file, configuration)
    return hookline(["run", "-c", file])
  }

  test("is shared with an instance that shares it, too, and with no other", async () => {
    const [first, second] = await partsOf(2)
    await using running = await startInProcess(instanceConf(first!), { folder: root.make("first") })
    const alone = await run("alone", instanceConf(second!).replace("reuse_port = on", ""))
    expect(alone.status).toBe(69)
    expect(alone.stderr).toContain(`can't listen on 127.0.0.1:${first!.port}: the port is in use`)
    expect(alone.stderr).not.toContain("reuse_port")
    // each has an admin listener of its own
    const same = await run("same", instanceConf(first!))
    expect(same.status).toBe(69)
    expect(same.stderr).toContain(`[admin] listen: can't listen on 127.0.0.1:${first!.adminPort}`)
    expect(same.stderr).not.toContain(`127.0.0.1:${first!.port}:`)
    const file = join(root.make("checked"), "pipelines.conf")
    await Bun.write(file, instanceConf(second!))
    expect(await hookline(["check", "--listen", "-c", file])).toMatchObject({ status: 0, stderr: "" })
    expect(await post(first!.port)).toBe(503)
    await running.stop()
  })

  test("is not taken from a program that does not share it", async () => {
    const [parts] = await partsOf(1)
    await using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
    const refused = await run("stranger", instanceConf({ ...parts!, port: other.port! }))
    expect(refused.status).toBe(69)
    expect(refused.stderr).toContain(`can't listen on 127.0.0.1:${other.port}: the port is in use`)
  })
})

describe.skipIf(kafka === undefined || !isLinux)("two instances on one port", () => {
  const start = async (name: string, more: Partial<InstanceParts> = {}) => {
    const topic = freshTopic("instances")
    await createTopic(kafka!, topic, { partitions: 3 })
    const connection = `${onKafka(kafka!)}\ndelivery_timeout = ${PATIENT_MS}ms`
    const [first, second] = (await partsOf(2, { topic, connection, ...more })) as [
      InstanceParts,
      InstanceParts,
    ]
    const folders = [root.make(`${name}-1`), root.make(`${name}-2`)] as const
    await using parts = new AsyncDisposableStack()
    const a = parts.use(await startHookline(instanceConf(first), { folder: folders[0] }))
    const b = parts.use(await startHookline(instanceConf(second), { folder: folders[1] }))
    await until("both are ready", async () =>
      (await Promise.all([a, b].map((it) => fetch(`${it.adminUrl}/readyz`)))).every(({ ok }) => ok),
    )
    const whole = parts.move()
    return {
      a,
      b,
      first,
      second,
      topic,
      folders,
      port: first.port,
      events: () => eventsInKafka(kafka!, topic),
      [Symbol.asyncDispose]: () => whole[Symbol.asyncDispose](),
    }
  }
  const answersOf = async (running: RunningHookline): Promise<number> =>
    sum((await metricOf(running, "hookline_http_requests_total")).values())
  const get = async <T>({ adminUrl }: RunningHookline, path: string): Promise<T> =>
    (await fetch(`${adminUrl}/api/${path}`)).json() as Promise<T>

  test("both get requests, count their own, show what both got, and reload one by one", async () => {
    await using it = await start("both")
    const { a, b, port, first, folders } = it
    expect(new Set(await overManyConnections(port, 40, '{"k":"a"}'))).toEqual(new Set([200]))
    const counts = await Promise.all([a, b].map(answersOf))
    expect(Math.min(...counts)).toBeGreaterThan(0)
    expect(sum(counts)).toBe(40)
    await until("each knows the other", async () =>
      (await get<Overview>(a, "overview")).replicas.every(({ problem }) => problem === null),
    )
    const shown = await get<CaptureSummary[]>(a, "captures")
    expect(shown.filter(({ replica }) => replica === undefined)).toHaveLength(counts[0]!)
    expect(shown.filter(({ replica }) => replica !== undefined)).toHaveLength(counts[1]!)

    const other = freshTopic("instances")
    await createTopic(kafka!, other)
    expect(await reload(a, folders[0], instanceConf({ ...first, topic: other }))).toBe("reloaded")
    expect(new Set(await overManyConnections(port, 40, '{"n":1,"k":"a"}'))).toEqual(new Set([200]))
    const byReloaded = (await answersOf(a)) - counts[0]!
    expect(byReloaded).toBeGreaterThan(0)
    expect((await eventsInKafka(kafka!, other)).length).toBe(byReloaded)
  })

  test("under load one reloads unnoticed; one that stops takes nothing acknowledged along, and the other gets what comes then", async () => {
    await using it = await start("stopped")
    const { a, b, second, folders } = it
    await using senders = new NumberedSenders(serving(a), { keyless: 8, pauseMs: 1 })
    await senders.many(200)
    expect(await reload(b, folders[1], instanceConf({ ...second, service: "drain_timeout = 19s" }))).toBe(
      "reloaded",
    )
    await senders.many(200)
    expect(senders.posted.filter((posted) => !isAcknowledged(posted))).toEqual([])
    expect(await a.stop()).toBe(0)
    // each sender has found out that its connection, if it was to that one, has ended
    await senders.many(300)
    const sent = senders.posted.length
    await senders.many(100)
    await senders.stop()
    const later = senders.posted.slice(sent)
    expect(later.filter((posted) => !isAcknowledged(posted))).toEqual([])
    const findings = compare(senders.posted, await it.events())
    // open requests are answered; one on its way as its connection is closed has no answer, and was not published
    expect(findings).toMatchObject({ lost: 0, doubled: 0, disordered: 0, unansweredAndFound: 0 })
    expect(findings.found).toBe(findings.acknowledged)
    // a sender has one connection at a time
    expect(findings.unanswered).toBeLessThanOrEqual(40)
  })

  test("a secret that the sender brings to one is known to both, and there is no second one", async () => {
    const file = join(root.make("secrets"), "asana")
    const more = `[pipeline:webhooks:Verifier]\nprovider = asana\nsecret_file = ${file}`
    await using it = await start("secret", { more })
    const secret = "obviously-fake-asana-secret"
    const signature = createHmac("sha256", secret).update("{}").digest("hex")
    const send = async (count: number, body: string, headers: { readonly [name: string]: string }) =>
      new Set(await overManyConnections(it.port, count, body, headers))
    expect(await send(1, "", { "X-Hook-Secret": secret })).toEqual(new Set([200]))
    expect(await send(20, "", { "X-Hook-Secret": "another-obviously-fake-one" })).toEqual(new Set([401]))
    expect(await send(20, "{}", { "X-Hook-Signature": signature })).toEqual(new Set([200]))
    expect(Math.min(...(await Promise.all([it.a, it.b].map(answersOf))))).toBeGreaterThan(0)
    expect(it.a.output() + it.b.output()).not.toContain("obviously-fake-asana")
  })

  test.skipIf(!hasRedis())(
    "a rate limit is that of both, and a replay is noticed by whichever it reaches, by the Redis of both",
    async () => {
      await using redis = await startRedis()
      await using it = await start("redis", {
        source: "rate_limit = 0.001\nrate_burst = 10",
        service: `redis = ${redis.url}`,
        more: remembered(redis.url),
      })
      const seen = async (): Promise<readonly number[]> =>
        ((await redis.send("ZRANGE", "hookline:processes", "0", "-1", "WITHSCORES")) as unknown[])
          .flat()
          .flatMap((_, at, all) => (at % 2 === 0 ? [] : Number(all[at])))
      await until("both have reported", async () => (await seen()).length === 2)
      const latest = Math.max(...(await seen()))
      // of each an answer has come by then
      await until("both report again", async () => (await seen()).every((at) => at > latest))

      const signed = (id: string): { readonly [name: string]: string } => {
        const timestamp = String(Math.floor(Date.now() / 1000))
        const signature = createHmac("sha256", Buffer.from(SECRET, "base64")).update(`${id}.${timestamp}.{}`)
        return {
          "webhook-id": id,
          "webhook-timestamp": timestamp,
          "webhook-signature": `v1,${signature.digest("base64")}`,
        }
      }
      const replayed = signed("msg_0")
      expect(new Set(await overManyConnections(it.port, 21, "{}", replayed))).toEqual(new Set([200]))
      const events = await Promise.all([it.a, it.b].map((one) => metricOf(one, "hookline_events_total")))
      const noticed = events.map(
        (one) => one.get('pipeline="webhooks",outcome="dropped",reason="replayed"') ?? 0,
      )
      expect([Math.min(...noticed) > 0, sum(noticed)]).toEqual([true, 20])
      const statuses: number[] = []
      for (let n = 1; n <= 30; n++)
        statuses.push(...(await overManyConnections(it.port, 1, "{}", signed(`msg_${n}`))))
      // a replay is no event that counts
      expect(statuses.filter((status) => status === 200)).toHaveLength(9)
      expect(new Set(statuses.slice(9))).toEqual(new Set([429]))
      expect(await readWithKcat(kafka!, it.topic)).toHaveLength(10)
    },
  )
})
