import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { reload, startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"
import { hasRedis, startRedis } from "../support/redis.ts"
import { Sender } from "../support/sender.ts"
import { onKafka } from "../support/webhook-service.ts"
import { childrenOf, metricOf, sum } from "../support/worker-processes.ts"
import { overManyConnections, remembered, SECRET, workersConf } from "../support/workers-configuration.ts"

const root = folderOfTests()
const folderOf = (name: string): string => root.make(name)

/** The status that `/readyz` says. */
async function readyz({ adminUrl }: RunningHookline): Promise<string> {
  const { status } = (await (await fetch(`${adminUrl}/readyz`)).json()) as { status: string }
  return status
}

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("two workers on Kafka", () => {
  const connection = kafka === undefined ? "" : `${onKafka(kafka)}\ndelivery_timeout = 1m`
  const published = async (topic: string): Promise<string[]> =>
    (await readWithKcat(kafka!, topic)).map(({ value }) => value.toString())

  test("under load, every request is answered 200 and published once, to the topic of its time, through ten reloads", async () => {
    const folder = folderOf("reloads")
    const [port, more] = [await freePort(), await freePort()]
    const prefix = freshTopic()
    const topicsThen = Array.from({ length: 11 }, (_, n) => `${prefix}-${n}`)
    for (const topic of topicsThen) await createTopic(kafka!, topic, { partitions: 1 })
    const version = (n: number): string => {
      const extra = `[pipeline:extra:WebHookSource]\nport = ${more}\n[pipeline:extra:BrokerSink]\ntopic = ${prefix}-0`
      return workersConf({
        port,
        connection,
        topic: `${prefix}-${n}`,
        service: `drain_timeout = ${10 + n}s`,
        more: n % 2 === 0 ? "" : extra,
      })
    }
    const running = await startHookline(version(0), { folder })
    let [ran, mayRun, next] = [0, 0, 0]
    const over = new AbortController()
    const sent: { n: number; from: number; to: number; status: number }[] = []
    const send = async (keepsAlive: boolean): Promise<void> => {
      using sender = new Sender(port, { keepsAlive })
      while (!over.signal.aborted) {
        const [n, from] = [next++, ran]
        const { status } = await sender.post("/webhook", JSON.stringify({ n }))
        sent.push({ n, from, to: mayRun, status })
      }
    }
    const senders = [true, true, true, true, true, true, false, false].map(send)
    const failed = Promise.all(senders).catch((error: unknown) => error)
    for (let n = 1; n <= 10; n++) {
      const before = sent.length
      mayRun = n
      expect(await reload(running, folder, version(n))).toBe("reloaded")
      ran = n
      while (sent.length < before + 20) await Bun.sleep(1)
    }
    over.abort()
    await Promise.all(senders)
    expect(await failed).toBeArray()
    const { pipelines_changed: changed, service_changed: service } = running.log.findLast(
      ({ msg }) => msg === "reloaded",
    )!
    expect({ changed, service }).toEqual({ changed: ["webhooks"], service: ["drain_timeout"] })
    expect(running.log.filter(({ msg }) => msg === "reloaded")).toHaveLength(10)
    expect(running.log.filter(({ level }) => level === "error")).toEqual([])
    expect(await running.stop()).toBe(0)

    expect(sent.filter(({ status }) => status !== 200)).toEqual([])
    const versions = new Map<number, number[]>()
    for (const [version, topic] of topicsThen.entries()) {
      for (const value of await published(topic)) {
        const { n } = JSON.parse(value) as { n: number }
        versions.set(n, [...(versions.get(n) ?? []), version])
      }
    }
    const wrong = sent.filter(({ n, from, to }) => {
      const [version = -1, ...others] = versions.get(n) ?? []
      return others.length > 0 || version < from || version > to
    })
    expect(wrong).toEqual([])
    expect(versions.size).toBe(sent.length)
  })

  test("a reload that a worker can't follow changes nothing in any; a worker that is restarted runs what the others do", async () => {
    const folder = folderOf("not-reloaded")
    const port = await freePort()
    const [first, second, third] = [freshTopic(), freshTopic(), freshTopic()] as const
    for (const topic of [first, third]) await createTopic(kafka!, topic, { partitions: 1 })
    const running = await startHookline(workersConf({ port, connection, topic: first }), { folder })
    const send = (): Promise<number[]> => overManyConnections(port, 20, "{}", {})
    try {
      await Bun.write(join(folder, "schema.json"), "{")
      const broken = workersConf({
        port,
        connection,
        topic: second,
        more: "[pipeline:webhooks:Validator]\nschema = schema.json",
      })
      expect(await reload(running, folder, broken)).toBe("not")
      expect(running.log.filter(({ msg }) => msg.includes("schema.json"))).toHaveLength(1)
      expect(await reload(running, folder, workersConf({ port: 0, connection }))).toBe("not")
      // one process could, the two that run can't
      const alone = workersConf({ port, workers: 1, connection: "directory = log" })
      expect(await reload(running, folder, alone)).toBe("not")
      const why = ["an embedded log is one process's", "[service] workers: stays 2 until a restart"]
      for (const text of why) expect(running.log.filter(({ msg }) => msg.includes(text))).toHaveLength(1)
      expect((await metricOf(running, "hookline_config_last_reload_successful")).get("")).toBe(0)

      process.kill(childrenOf(running.pid)[0]!, "SIGKILL")
      await running.logged(({ msg }) => msg === "worker restarted")
      expect(new Set(await send())).toEqual(new Set([200]))

      expect(await reload(running, folder, workersConf({ port, connection, topic: third, workers: 3 }))).toBe(
        "reloaded",
      )
      const warned = running.log.filter(({ msg }) => msg === "[service] workers takes effect with a restart")
      expect(warned).toMatchObject([{ workers: 3 }])
      expect(childrenOf(running.pid)).toHaveLength(2)
      expect(new Set(await send())).toEqual(new Set([200]))
    } finally {
      expect(await running.stop()).toBe(0)
    }
    expect([await published(first), await published(third)].map(({ length }) => length)).toEqual([20, 20])
  })

  test("a worker that stalls through a reload is replaced, and the next one runs what the other does", async () => {
    const folder = folderOf("replaced")
    const port = await freePort()
    const topics = [freshTopic(), freshTopic()] as const
    for (const topic of topics) await createTopic(kafka!, topic, { partitions: 1 })
    const service = "stall_timeout = 10s"
    const running = await startHookline(workersConf({ port, connection, topic: topics[0], service }), {
      folder,
    })
    try {
      const [, second] = childrenOf(running.pid)
      process.kill(second!, "SIGSTOP")
      const next = workersConf({ port, connection, topic: topics[1], service })
      expect(await reload(running, folder, next)).toBe("reloaded")
      await running.logged(({ msg }) => msg === "worker restarted")
      expect(new Set(await overManyConnections(port, 20, "{}", {}))).toEqual(new Set([200]))
    } finally {
      expect(await running.stop()).toBe(0)
    }
    expect(await published(topics[1])).toHaveLength(20)
  })

  test.skipIf(!hasRedis())(
    "a replay is noticed by whichever worker it reaches, by the Redis of all",
    async () => {
      const folder = folderOf("replays")
      const port = await freePort()
      const topic = freshTopic()
      await createTopic(kafka!, topic, { partitions: 1 })
      await using redis = await startRedis()
      const more = remembered(redis.url)
      const running = await startHookline(workersConf({ port, connection, topic, more }), { folder })
      const timestamp = String(Math.floor(Date.now() / 1000))
      const signature = createHmac("sha256", Buffer.from(SECRET, "base64")).update(`msg_1.${timestamp}.{}`)
      const headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${signature.digest("base64")}`,
      }
      try {
        await until("ready", async () => (await readyz(running)) === "ready")
        expect(new Set(await overManyConnections(port, 21, "{}", headers))).toEqual(new Set([200]))
        const answers = await metricOf(running, "hookline_worker_http_requests_total")
        expect(Math.min(...answers.values())).toBeGreaterThan(0)
        const events = await metricOf(running, "hookline_events_total")
        expect(events.get('pipeline="webhooks",outcome="dropped",reason="replayed"')).toBe(20)
      } finally {
        await running.stop()
      }
      expect(await published(topic)).toHaveLength(1)
    },
  )

  test("a secret that the provider brings to one worker is known to all, and there is no second one", async () => {
    const folder = folderOf("secret-file")
    const port = await freePort()
    const topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 1 })
    const more = "[pipeline:webhooks:Verifier]\nprovider = asana\nsecret_file = asana-secret"
    const running = await startHookline(workersConf({ port, connection, topic, more }), { folder })
    const secret = "obviously-fake-asana-secret"
    const signature = createHmac("sha256", secret).update("{}").digest("hex")
    try {
      expect(await overManyConnections(port, 1, "", { "X-Hook-Secret": secret })).toEqual([200])
      const others = await overManyConnections(port, 20, "", {
        "X-Hook-Secret": "another-obviously-fake-one",
      })
      expect(new Set(others)).toEqual(new Set([401]))
      const events = await overManyConnections(port, 20, "{}", { "X-Hook-Signature": signature })
      expect(new Set(events)).toEqual(new Set([200]))
      const answers = await metricOf(running, "hookline_worker_http_requests_total")
      expect(Math.min(...answers.values())).toBeGreaterThan(0)
      expect(sum(answers.values())).toBe(41)
    } finally {
      await running.stop()
    }
    expect(running.output()).not.toContain("obviously-fake")
  })
})
