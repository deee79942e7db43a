import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { blocksOf } from "../support/documents.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePorts } from "../support/ports.ts"
import { hasProxy, nginxWith, runProxy } from "../support/proxies.ts"
import { hasRedis, startRedis } from "../support/redis.ts"
import { configurationOf, eventsInKafka, onKafka } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
const ROUNDS = isFull ? 5 : 1
/** Longer than HAProxy, by the page's configuration, needs to see that a replica is not ready. */
const SHUTDOWN_DELAY = "4s"
const REPLICAS = 3

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined || !hasRedis())("three replicas behind a load balancer", () => {
  for (const program of ["haproxy", "nginx"] as const) {
    test.skipIf(!hasProxy({ program }))(
      `each restarted behind ${program}: every request is answered 2xx, nothing is lost or doubled`,
      async () => {
        const topic = freshTopic()
        await createTopic(kafka!, topic, { partitions: 3 })
        await using redis = await startRedis()
        await using replicas = await Replicas.start({ topic, store: redis.url, delay: program === "haproxy" })
        await using proxy = await runProxy(program, (listen, folder) => {
          const text = configurationOfPage(program, listen, replicas)
          return program === "nginx" ? nginxWith(text, folder) : `${text}\n`
        })
        const url = `http://127.0.0.1:${proxy.port}/webhook`
        await answers200(url)
        await using senders = new NumberedSenders({ url, pid: proxy.pid }, { pauseMs: 1 })
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
        expectKept(findings, DELIVERY_TIMEOUT_MS)
        expect(findings.acknowledged).toBe(findings.sent)
      },
      300_000,
    )
  }
})

interface Settings {
  readonly topic: string
  readonly store: string
  /** Whether a stop waits for the load balancer. */
  readonly delay: boolean
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

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#running) running.signal("SIGKILL")
    await Promise.all(this.#running.map((running) => running.exited))
    this.#folder[Symbol.dispose]()
  }

  async #start(at: number): Promise<void> {
    const { topic, store, delay } = this.#settings
    const folder = join(this.#folder.path, `${at}`)
    const configuration = configurationOf({
      connection: `${onKafka(kafka!)}\nclient_id = version-${++this.#versions}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
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

/** The configuration of docs/deploying.md, with addresses of this machine. */
function configurationOfPage(program: string, listen: number, { ports, adminPorts }: Replicas): string {
  const { text } = blocksOf("docs/deploying.md").find(({ language }) => language === program)!
  return text
    .replace(/\b(bind |listen )[^\n;]*8080/, `$1127.0.0.1:${listen}`)
    .replaceAll(/10\.0\.0\.1([123]):8080/g, (_, replica: string) => {
      const at = Number(replica) - 1
      return `127.0.0.1:${ports[at]}${program === "haproxy" ? ` port ${adminPorts[at]}` : ""}`
    })
}

/** Waits until the load balancer has found a replica that is ready. */
async function answers200(url: string): Promise<void> {
  const post = async (): Promise<boolean> => (await fetch(url, { method: "POST", body: "{}" })).ok
  while (!(await post())) await Bun.sleep(50)
}
