import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { blocksOf } from "../support/documents.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { startKafkaBehind } from "../support/kafka-behind.ts"
import { until } from "../support/kafka-options.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic, kafkaForTests, type TestKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePorts } from "../support/ports.ts"
import { hasProxy, nginxWith, runProxy, type Proxy } from "../support/proxies.ts"
import { startSentinels } from "../support/redis-sentinels.ts"
import { hasRedis, startRedis } from "../support/redis.ts"
import { configurationOf, eventsInKafka, onKafka } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
/** Where no request may fail; less than the load balancers wait. */
const PATIENT_MS = 20_000
const ROUNDS = isFull ? 5 : 1
/** Longer than HAProxy, by the page's configuration, needs to see that a replica is not ready. */
const SHUTDOWN_DELAY = "10s"
const REPLICAS = 3
/** How long replicas and Redis are killed again and again. */
const CRASHING_MS = isFull ? 600_000 : 15_000

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined || !hasRedis())("three replicas behind a load balancer", () => {
  for (const program of ["haproxy", "nginx"] as const) {
    test.skipIf(!hasProxy({ program }))(
      `each restarted behind ${program}: every request is answered 2xx, nothing is lost or doubled`,
      async () => {
        const topic = freshTopic()
        await createTopic(kafka!, topic, { partitions: 3 })
        await using redis = await startRedis()
        const delay = program === "haproxy"
        await using replicas = await Replicas.start({
          kafka: kafka!,
          topic,
          store: redis.url,
          delay,
          deliveryTimeoutMs: PATIENT_MS,
        })
        await using proxy = await balance(program, replicas)
        const url = `http://127.0.0.1:${proxy.port}/webhook`
        await answers200(url)
        await using senders = new NumberedSenders({ url, pid: proxy.process.pid }, { pauseMs: 1 })
        for (let round = 1; round <= ROUNDS; round++) {
          for (let at = 0; at < REPLICAS; at++) {
            await senders.many(100)
            await replicas.restart(at)
          }
        }
        await senders.many(100)
        await senders.stop()
        const findings = compare(senders.posted, await eventsInKafka(kafka!, topic))
        report(`rolling restart of three replicas behind ${program}, ${ROUNDS * REPLICAS} restarts`, findings)
        expectKept(findings, PATIENT_MS)
        expect(findings.acknowledged).toBe(findings.sent)
      },
      isFull ? 900_000 : 300_000,
    )
  }
})

describe.skipIf(kafka === undefined || !hasRedis())("three replicas behind HAProxy", () => {
  test.skipIf(!hasProxy({ program: "haproxy" }))(
    "replicas and the Redis master of their Deduplicator are killed at random: nothing acknowledged is lost",
    async () => {
      const topic = freshTopic()
      await createTopic(kafka!, topic, { partitions: 3 })
      using folder = temporaryFolder()
      await using redis = await startSentinels(folder.path)
      await using replicas = await Replicas.start({ kafka: kafka!, topic, store: redis.url, delay: false })
      await using proxy = await balance("haproxy", replicas)
      const url = `http://127.0.0.1:${proxy.port}/webhook`
      await answers200(url)
      await using senders = new NumberedSenders({ url, pid: proxy.process.pid }, { pauseMs: 1 })
      const kills = { replicas: 0, masters: 0 }
      const crashReplicas = async (): Promise<void> => {
        for (; steadyMs() < endsMs; kills.replicas++) {
          await senders.many(Math.ceil(Math.random() * 500))
          await replicas.crash(Math.floor(Math.random() * REPLICAS))
        }
      }
      const crashMasters = async (): Promise<void> => {
        for (; steadyMs() < endsMs; kills.masters++) {
          await senders.many(Math.ceil(Math.random() * 2000))
          await redis.failOver()
        }
      }
      const endsMs = steadyMs() + CRASHING_MS
      await Promise.all([crashReplicas(), crashMasters()])
      await senders.many(100)
      await senders.stop()
      const findings = compare(senders.posted, await eventsInKafka(kafka!, topic))
      const what = `${kills.replicas} kills of three replicas behind haproxy, ${kills.masters} of their Redis master`
      report(what, findings)
      expect(kills.replicas * kills.masters).toBeGreaterThan(0)
      expect(findings).toMatchObject({ lost: 0, doubled: 0, disordered: 0, refusedAndFound: 0 })
    },
    CRASHING_MS + 300_000,
  )
})

describe.skipIf(!(await canStartKafka()) || !hasRedis())("a load balancer with Kafka away", () => {
  for (const program of ["haproxy", "nginx"] as const) {
    test.skipIf(!hasProxy({ program }))(
      `${program} passes on Hookline's 503 with its Retry-After, and answers with one only once no replica runs`,
      async () => {
        await using network = await openProxy()
        await using kafka = await startKafkaBehind([network])
        const behind = { ...kafka, bootstrapServers: [network.address] }
        const topic = freshTopic()
        await createTopic(kafka, topic)
        await using redis = await startRedis()
        await using replicas = await Replicas.start({ kafka: behind, topic, store: redis.url, delay: false })
        await using proxy = await balance(program, replicas)
        const url = `http://127.0.0.1:${proxy.port}/webhook`
        await answers200(url)

        network.loseAnswers()
        const away: Response[] = []
        const areAll = async (path: string, status: number): Promise<boolean> => {
          away.push(await post(url))
          const answers = replicas.adminPorts.map((port) => fetch(`http://127.0.0.1:${port}${path}`))
          return (await Promise.all(answers)).every((it) => it.status === status)
        }
        await until("not ready", () => areAll("/readyz", 503))
        await until("ready without it", () => areAll("/readyz?exclude=brokers", 200))
        // longer than HAProxy needs to see it
        for (const untilMs = steadyMs() + 4000; steadyMs() < untilMs;)
          away.push(...(await Promise.all(Array.from({ length: 8 }, () => post(url)))))
        const refused = away.filter(({ status }) => status !== 200)
        expect(refused.length).toBeGreaterThan(8)
        for (const { status, headers } of refused) {
          expect([status, headers.get("Content-Type")]).toEqual([503, "application/problem+json"])
          expect(Number(headers.get("Retry-After"))).toBeGreaterThan(0)
        }

        network.heal()
        await answers200(url)
        await replicas.kill()
        let last: Response
        do last = await post(url)
        while (last.headers.get("Content-Type") !== "text/plain")
        expect([last.status, last.headers.get("Retry-After")]).toEqual([503, "10"])
      },
    )
  }
})

interface Settings {
  readonly kafka: TestKafka
  readonly topic: string
  readonly store: string
  /** Whether a stop waits for the load balancer. */
  readonly delay: boolean
  readonly deliveryTimeoutMs?: number
}

/** Three Hooklines with one store of dedupe keys. */
class Replicas implements AsyncDisposable {
  readonly ports: readonly number[]
  readonly adminPorts: readonly number[]
  readonly #settings: Settings
  readonly #folder = temporaryFolder()
  readonly #running: RunningHookline[] = []
  #versions = 0

  private constructor(settings: Settings, ports: readonly number[]) {
    this.#settings = settings
    this.ports = ports.slice(0, REPLICAS)
    this.adminPorts = ports.slice(REPLICAS)
  }

  static async start(settings: Settings): Promise<Replicas> {
    const replicas = new Replicas(settings, await freePorts(2 * REPLICAS))
    for (let at = 0; at < REPLICAS; at++) await replicas.#start(at)
    return replicas
  }

  /** Ends one with SIGTERM, starts another version of it and waits until that is ready, as an orchestrator does. */
  async restart(at: number): Promise<void> {
    expect(await this.#running[at]!.stop()).toBe(0)
    await this.#start(at)
  }

  /** Ends one with SIGKILL, starts it again and waits until it is ready. */
  async crash(at: number): Promise<void> {
    await killed(this.#running[at]!)
    await this.#start(at)
  }

  async kill(): Promise<void> {
    await Promise.all(this.#running.map(killed))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    this.#folder[Symbol.dispose]()
  }

  async #start(at: number): Promise<void> {
    const { kafka, topic, store, delay, deliveryTimeoutMs = DELIVERY_TIMEOUT_MS } = this.#settings
    const folder = join(this.#folder.path, `${at}`)
    const configuration = configurationOf({
      connection: `${onKafka(kafka)}\nclient_id = version-${++this.#versions}`,
      topic,
      deliveryTimeoutMs,
      port: this.ports[at]!,
      source: "trusted_proxies = 127.0.0.1",
      service: delay ? `shutdown_delay = ${SHUTDOWN_DELAY}` : "",
    })
    this.#running[at] = await startHookline(
      `${configuration.replace("127.0.0.1:0", `127.0.0.1:${this.adminPorts[at]}`)}
[pipeline:webhooks:Deduplicator]
key = json:/n
store = ${store}`,
      { folder },
    )
    const ready = async (): Promise<boolean> => (await fetch(`${this.#running[at]!.adminUrl}/readyz`)).ok
    while (!(await ready())) await Bun.sleep(50)
  }
}

async function killed(running: RunningHookline): Promise<void> {
  running.signal("SIGKILL")
  await running.exited
}

/** Starts a load balancer before the replicas, as docs/deploying.md configures it. */
const balance = (program: "haproxy" | "nginx", replicas: Replicas): Promise<Proxy> =>
  runProxy(program, (listen, folder) => {
    const text = configurationOfPage(program, listen, replicas)
    return program === "nginx" ? nginxWith(text, folder) : `${text}\n`
  })

/** The configuration of docs/deploying.md, with addresses of this machine, and time for replicas that start beside each other. */
function configurationOfPage(program: string, listen: number, { ports, adminPorts }: Replicas): string {
  const { text } = blocksOf("docs/deploying.md").find(({ language }) => language === program)!
  return text
    .replace("timeout queue 5s", "timeout queue 1m\n  timeout check 20s")
    .replace(/\b(bind |listen )[^\n;]*8080/, `$1127.0.0.1:${listen}`)
    .replaceAll(/10\.0\.0\.1([123]):8080/g, (_, replica: string) => {
      const at = Number(replica) - 1
      return `127.0.0.1:${ports[at]}${program === "haproxy" ? ` port ${adminPorts[at]}` : ""}`
    })
}

/** Waits until the load balancer has found a replica that is ready. */
async function answers200(url: string): Promise<void> {
  while (!(await post(url)).ok) await Bun.sleep(50)
}

const post = (url: string): Promise<Response> => fetch(url, { method: "POST", body: "{}" })
