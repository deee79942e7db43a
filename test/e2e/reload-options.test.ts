import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { appendFileSync, copyFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Metadata } from "../../src/kafka-protocol/messages.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { fileKinds } from "../../src/brokers/registry.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { atOnce } from "../../src/clock/slices.ts"
import { components } from "../../src/components/registry.ts"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import { readConfigurationFile } from "../../src/config/file/configuration-file.ts"
import { keysBy } from "../../src/config/options/reloading.ts"
import type { Section } from "../../src/config/options/section.ts"
import { ADMIN } from "../../src/config/sections/admin.ts"
import { Admin } from "../../src/brokers/kafka/client-library.ts"
import { SERVICE } from "../../src/config/sections/service.ts"
import { TRACES } from "../../src/config/sections/traces.ts"
import { makePlan } from "../../src/runtime/plan/plan.ts"
import { Runtime } from "../../src/runtime/runtime.ts"
import { someOf } from "../support/cases.ts"
import { reload, startHookline, folderOfTests } from "../support/hookline.ts"
import { openSocket, post } from "../support/http-socket.ts"
import { RawKafkaClient } from "../support/kafka-clients.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import {
  optionChanges,
  type Lines,
  type OptionChange,
  type OptionChanges,
} from "../support/option-changes.ts"
import { freePort } from "../support/ports.ts"
import { scraped } from "../support/scraped.ts"
import { HANG_MS } from "../support/hang.ts"

const folder = folderOfTests()
let changes: OptionChanges

beforeAll(async () => {
  const certificates = await makeCertificates(folder.path)
  const { client, server } = certificates
  writeFileSync(join(folder.path, "schema.json"), "{}")
  writeFileSync(join(folder.path, "secret"), "obviously-fake\n", { mode: 0o600 })
  for (const file of [client.certificate, client.key, server.certificate, server.key])
    copyFileSync(file, `${file}.copy`)
  for (const file of ["schema.json", "secret"])
    copyFileSync(join(folder.path, file), join(folder.path, `${file}.copy`))
  changes = optionChanges(folder.path, certificates, [await freePort(), await freePort()])
})

/** Every section that a configuration can have, with the name of the one that is changed. */
const SECTIONS: readonly (readonly [section: Section, name: string])[] = [
  ...fileKinds.map((kind) => [kind as Section, "connection:main"] as const),
  ...components.map((it) => [it, `pipeline:hooks:${it.title}`] as const),
  [ADMIN as Section, "admin"],
  [TRACES as Section, "traces"],
  [SERVICE as Section, "service"],
]
const OPTIONS = SECTIONS.flatMap(([section, name]) =>
  Object.entries(section.options).map(([key, option]) => ({ section, name, key, option })),
)
const ofReload = (of: "live" | "reopen" | "restart") =>
  OPTIONS.filter(({ option }) => option.reload === of).map((it) => [it.section.title, it.key, it] as const)

const BASE: { readonly [section: string]: Lines } = {
  "connection:main": { directory: "log" },
  "connection:other": { directory: "other" },
  "pipeline:hooks:WebHookSource": { host: "127.0.0.1", port: "0", max_body_bytes: "10" },
  "pipeline:hooks:Verifier": { provider: "token", header: "X-Token", secret: "obviously-fake" },
  "pipeline:hooks:BrokerSink": { topic: "hooks", connection: "main" },
  admin: { listen: "127.0.0.1:0" },
  service: { log_level: "silent" },
}
/** Other sections that a section can't do without. */
const BESIDE: { readonly [section: string]: { readonly [section: string]: Lines } } = {
  // a token is nothing that a record could have
  "pipeline:hooks:Enricher": {
    "pipeline:hooks:Verifier": { provider: "github", secret: "obviously-fake" },
  },
}
/** Sections of which nothing stays but what the change needs. */
const WHOLE = ["connection:main", "pipeline:hooks:Verifier"]

function configuration(name: string, key: string, value: string | undefined, beside: Lines = {}): string {
  const own = WHOLE.includes(name) ? beside : { ...BASE[name], ...beside }
  return Object.entries({ ...BASE, ...BESIDE[name], [name]: { ...own, [key]: value } })
    .map(([section, lines]) => {
      const set = Object.entries(lines).filter(([, text]) => text !== undefined)
      return [`[${section}]`, ...set.map(([line, text]) => `${line} = ${text}`)].join("\n")
    })
    .join("\n")
}

function changeOf({ section, key }: { section: Section; key: string }): OptionChange {
  const change = changes[section.title]?.[key]
  if (change === undefined) throw new Error(`test/support/option-changes.ts has no ${section.title} ${key}`)
  return change
}

function draftOf(text: string): Parameters<typeof makePlan>[0] {
  const configuration = readConfigurationFile(new TextEncoder().encode(text), "pipelines.conf", {
    env: {},
    baseDir: folder.path,
  })
  return { configuration: atOnce(configuration), registry: components, cwd: folder.path }
}

const start = (text: string): Promise<Runtime> => Runtime.start(atOnce(makePlan(draftOf(text))))
const change = (runtime: Runtime, text: string): Promise<unknown> =>
  runtime.change(() => makePlan(draftOf(text)))

/** What the options of a section are opened with. */
function instanceOf({ active }: Runtime, section: Section): unknown {
  if (fileKinds.some((kind) => kind === section)) return active.connections.get("main")!.instance
  if (section === ADMIN) return active.admin
  if (section === TRACES) return active.tracer
  return section === SERVICE ? active.servers : active.pipelines.get("hooks")
}

describe("opened anew", () => {
  let runtime: Runtime
  beforeAll(async () => {
    runtime = await start(configuration("service", "log_level", "silent"))
  })
  afterAll(() => runtime.stop())

  test.each(someOf(ofReload("reopen"), 30))("%s %s", async (_, __, option) => {
    const { section, name, key } = option
    const [before, after, beside] = changeOf(option)
    const opened = async (value: string | undefined): Promise<unknown> => {
      await change(runtime, configuration(name, key, value, beside))
      return instanceOf(runtime, section)
    }
    const first = await opened(before)
    expect(await opened(before)).toBe(first)
    const second = await opened(after)
    expect(second).not.toBe(first)
    if (!option.option.isInput) return
    // another content of the file counts like another value
    appendFileSync(after!, "\n")
    expect(await opened(after)).not.toBe(second)
  })
})

interface Running {
  readonly runtime: Runtime
  /** Changes to the other value. */
  readonly reload: () => Promise<unknown>
}

const send = async (runtime: Runtime, body = "{}"): Promise<number> => {
  const headers = { "X-Token": "obviously-fake" }
  return (await fetch(runtime.listening[0]!.url, { method: "POST", body, headers })).status
}
/** Sends requests that are not JSON objects. */
const refuse = (runtime: Runtime, count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => send(runtime, "[]")))
const captured = async ({ receiver }: Runtime): Promise<number> =>
  receiver.captures.list({ limit: 1000 }).length
const portOf = (runtime: Runtime): number => Number(new URL(runtime.listening[0]!.url).port)
const metrics = async ({ active }: Runtime, headers: { [name: string]: string }): Promise<number> =>
  (await fetch(`${active.admin!.url}/metrics`, { headers })).status
const replicasOf = async ({ active }: Runtime): Promise<string[]> => {
  const answer = await fetch(`${active.admin!.url}/api/overview`)
  return ((await answer.json()) as Overview).replicas.map(({ replica }) => replica)
}
const unfinished = post("Content-Length: 10", "X-Token: obviously-fake")

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Bun.sleep(10)
}

async function recordsIn(directory: string): Promise<number> {
  const reader = openEmbeddedReader(join(folder.path, directory))
  const [topic] = await reader.topics()
  await reader.close()
  return topic?.records ?? 0
}

/** Sees that the log in a folder deletes records by the new value. */
const deletesIn =
  (directory: string) =>
  async ({ runtime, reload }: Running): Promise<void> => {
    for (let n = 0; n < 3; n++) expect(await send(runtime)).toBe(200)
    expect(await recordsIn(directory)).toBe(3)
    await reload()
    await until(async () => (await recordsIn(directory)) < 3)
  }

async function hasDeliveryTimeout({ runtime, reload }: Running): Promise<void> {
  const timeoutMs = (): number => runtime.active.pipelines.get("hooks")!.route.deliveryTimeoutMs
  expect(timeoutMs()).toBe(5000)
  await reload()
  expect(timeoutMs()).toBe(1000)
}

/** What Kafka clients are told of the embedded log's broker. */
async function brokerOf(address: string, ca?: string): Promise<string> {
  await using client = await RawKafkaClient.connect(address, ca)
  client.request({ key: Metadata.key, version: 1 }, 1, Buffer.alloc(4))
  return String(await client.response())
}

/** Before and after a file of the same content took the place of another. */
async function speaksTls({ reload }: Running): Promise<void> {
  const address = String(changes["Embedded connection"]!["kafka_tls_key"]![2]!["kafka_listen"])
  const ca = await Bun.file(join(folder.path, "ca.pem")).text()
  expect(await brokerOf(address, ca)).toContain("127.0.0.1")
  await reload()
  // the port is opened anew, and clients connect again
  await until(() =>
    brokerOf(address, ca).then(
      (host) => host.includes("127.0.0.1"),
      () => false,
    ),
  )
}

async function adminSpeaksTls({ runtime, reload }: Running): Promise<void> {
  const ca = await Bun.file(join(folder.path, "ca.pem")).text()
  const status = async (): Promise<number> =>
    (await fetch(`${runtime.active.admin!.url}/healthz`, { tls: { ca } })).status
  expect(await status()).toBe(200)
  await reload()
  expect(await status()).toBe(200)
}

/** Shows that a value is taken: the behaviour before, the reload, the behaviour after. */
/** Their rate limits are of another Redis then. */
async function opensPipelinesAnew({ runtime, reload }: Running): Promise<void> {
  const [before] = runtime.active.pipelines.values()
  await reload()
  const [after] = runtime.active.pipelines.values()
  expect(after).not.toBe(before)
}

const EFFECTS: { readonly [option: string]: (running: Running) => Promise<void> } = {
  ...Object.fromEntries(fileKinds.map(({ title }) => [`${title} delivery_timeout`, hasDeliveryTimeout])),
  async "Kafka connection spool_max_bytes"({ runtime, reload }) {
    const { broker } = runtime.active.connections.get("main")!
    const publish = (bytes: number): Promise<boolean> =>
      broker
        .publish({ topic: "hooks", key: undefined, value: new Uint8Array(bytes) }, steadyMs() + HANG_MS)
        .then(
          () => true,
          () => false,
        )
    await until(() => publish(10))
    expect(await publish(2000)).toBe(false)
    await reload()
    expect(await publish(2000)).toBe(true)
  },
  "Embedded connection retention": deletesIn("log-3"),
  "Embedded connection retention_bytes": deletesIn("log-4"),
  async "Embedded connection partitions"({ runtime, reload }) {
    const partitions = async (): Promise<number | undefined> => {
      const reader = openEmbeddedReader(join(folder.path, "log-5"))
      const [topic] = await reader.topics()
      await reader.close()
      return topic?.partitions
    }
    expect(await send(runtime)).toBe(200)
    expect(await partitions()).toBe(1)
    await reload()
    await until(async () => (await partitions()) === 2)
  },
  async "Embedded connection kafka_listen"({ reload }) {
    const address = String(changes["Embedded connection"]!["kafka_listen"]![1])
    await reload()
    expect(await brokerOf(address)).toContain("127.0.0.1")
  },
  async "Embedded connection kafka_advertised"({ reload }) {
    const address = String(changes["Embedded connection"]!["kafka_advertised"]![2]!["kafka_listen"])
    expect(await brokerOf(address)).toContain("127.0.0.1")
    await reload()
    expect(await brokerOf(address)).toContain("kafka.example")
  },
  async "Embedded connection kafka_users"({ reload }) {
    const address = String(changes["Embedded connection"]!["kafka_users"]![2]!["kafka_listen"])
    expect(await brokerOf(address)).toContain("127.0.0.1")
    await reload()
    await until(async () => !(await brokerOf(address)).includes("127.0.0.1"))
  },
  async "Embedded connection kafka_groups"({ reload }) {
    const address = String(changes["Embedded connection"]!["kafka_groups"]![2]!["kafka_listen"])
    const isRefused = async (group: string): Promise<boolean> => {
      const sasl = { mechanism: "SCRAM-SHA-256", username: "a", password: "obviously-fake" } as const
      const admin = new Admin({ clientId: "test", bootstrapBrokers: [address], sasl, retries: 0 })
      const answer = await admin.describeGroups({ groups: [group] }).catch((error: unknown) => error)
      await admin.close()
      return Bun.inspect(answer).includes("GROUP_AUTHORIZATION_FAILED")
    }
    expect([await isRefused("a-1"), await isRefused("b-1")]).toEqual([false, true])
    await reload()
    await until(() => isRefused("a-1"))
    expect(await isRefused("b-1")).toBe(false)
  },
  "Embedded connection kafka_tls_certificate": speaksTls,
  "Embedded connection kafka_tls_key": speaksTls,
  async "admin token"({ runtime, reload }) {
    expect(await metrics(runtime, {})).toBe(200)
    await reload()
    expect(await metrics(runtime, {})).toBe(401)
    expect(await metrics(runtime, { Authorization: "Bearer obviously-fake" })).toBe(200)
  },
  async "admin read_token"({ runtime, reload }) {
    const headers = { Authorization: "Bearer obviously-fake-2" }
    expect(await metrics(runtime, headers)).toBe(401)
    await reload()
    expect(await metrics(runtime, headers)).toBe(200)
  },
  "admin tls_certificate": adminSpeaksTls,
  "admin tls_key": adminSpeaksTls,
  async "admin audit_topic"({ runtime, reload }) {
    await reload()
    await fetch(`${runtime.active.admin!.url}/api/captures`, { method: "DELETE" })
    await until(async () => (await recordsIn("other")) === 1)
  },
  async "admin replicas"({ runtime, reload }) {
    expect(await replicasOf(runtime)).toEqual([])
    await reload()
    await until(async () => (await replicasOf(runtime))[0] === "127.0.0.1:9")
  },
  async "admin replicas_token"({ runtime, reload }) {
    const caller = async (): Promise<string> => {
      const headers = { Authorization: "Bearer obviously-fake-4" }
      const answer = await fetch(`${runtime.active.admin!.url}/api/session`, { headers })
      return ((await answer.json()) as { token: string }).token
    }
    expect(await caller()).toBe("none")
    await reload()
    expect(await caller()).toBe("replicas_token")
  },
  async "admin replay_urls"({ runtime, reload }) {
    expect(await send(runtime)).toBe(200)
    const replay = async (): Promise<number> => {
      const headers = { "Content-Type": "application/json" }
      const body = JSON.stringify({
        from: { connection: "main", topic: "hooks" },
        to: { url: "http://127.0.0.1:9/hook" },
      })
      return (await fetch(`${runtime.active.admin!.url}/api/replays`, { method: "POST", headers, body }))
        .status
    }
    expect(await replay()).toBe(403)
    await reload()
    expect(await replay()).toBe(200)
  },
  async "admin hosts"({ runtime, reload }) {
    expect(await metrics(runtime, { Host: "admin.example" })).toBe(421)
    await reload()
    expect(await metrics(runtime, { Host: "admin.example" })).toBe(200)
  },
  async "admin capture"({ runtime, reload }) {
    expect(await send(runtime)).toBe(200)
    await reload()
    expect(await captured(runtime)).toBe(0)
    expect(await send(runtime)).toBe(200)
    expect(await captured(runtime)).toBe(1)
  },
  // an eighth of each limit is for requests that no pipeline has
  async "admin capture_max_requests"({ runtime, reload }) {
    await refuse(runtime, 20)
    expect(await captured(runtime)).toBe(14)
    await reload()
    expect(await captured(runtime)).toBe(7)
  },
  async "admin capture_max_bytes"({ runtime, reload }) {
    await refuse(runtime, 175)
    expect(await captured(runtime)).toBe(175)
    await reload()
    expect(await captured(runtime)).toBeWithin(1, 175)
  },
  async "admin metrics_detail"({ runtime, reload }) {
    const totals = async (id: string) => {
      runtime.metrics.pipeline(id)
      return (await scraped(runtime.metrics)).includes(`pipeline="${id}",status="2xx"`)
    }
    expect(await totals("first")).toBe(false)
    await reload()
    expect([await totals("first"), await totals("next")]).toEqual([false, true])
  },
  async "service max_in_flight_bytes"({ runtime, reload }) {
    using socket = await openSocket(portOf(runtime))
    socket.send(unfinished)
    await until(() => runtime.active.servers.inFlight().bytes > 0)
    expect(await send(runtime, '{"n":1234}')).toBe(200)
    await reload()
    expect(await send(runtime, '{"n":1234}')).toBe(503)
  },
  async "service max_connections"({ runtime, reload }) {
    const sockets = await Promise.all(Array.from({ length: 60 }, () => openSocket(portOf(runtime))))
    expect(runtime.active.servers.isAccepting()).toBe(true)
    await reload()
    await until(() => !runtime.active.servers.isAccepting())
    for (const socket of sockets) socket[Symbol.dispose]()
  },
  async "service shutdown_delay"({ runtime, reload }) {
    await reload()
    const stopping = runtime.stop()
    expect(await send(runtime, '{"n":1}')).toBe(200)
    await stopping
  },
  async "service drain_timeout"({ runtime, reload }) {
    using socket = await openSocket(portOf(runtime))
    socket.send(unfinished)
    await until(() => runtime.active.servers.inFlight().requests > 0)
    await reload()
    await runtime.stop()
  },
  async "service body_timeout"({ runtime, reload }) {
    await reload()
    using socket = await openSocket(portOf(runtime))
    socket.send(unfinished)
    expect(await socket.until(/^HTTP/)).toStartWith("HTTP/1.1 408 ")
  },
  "service redis": opensPipelinesAnew,
  "service redis_ca": opensPipelinesAnew,
  async "service log_level"({ runtime, reload }) {
    expect(runtime.log.level).toBe("silent")
    await reload()
    expect(runtime.log.level).toBe("fatal")
  },
}

test.each(someOf(ofReload("live"), 20))("%s %s is taken live by what is open", async (title, _, option) => {
  const { section, name, key } = option
  const [before, after, beside] = changeOf(option)
  const runtime = await start(configuration(name, key, before, beside))
  const first = instanceOf(runtime, section)
  const effect = EFFECTS[`${title} ${key}`]
  try {
    if (effect === undefined) throw new Error(`EFFECTS has no ${title} ${key}`)
    await effect({ runtime, reload: () => change(runtime, configuration(name, key, after, beside)) })
    expect(instanceOf(runtime, section)).toBe(first)
  } finally {
    await runtime.stop()
  }
})

test("what takes a restart continues with the value before, and the log says so", async () => {
  expect(ofReload("restart").map(([title]) => title)).toEqual(keysBy("restart", SERVICE).map(() => "service"))
  const running = await startHookline(configuration("service", "log_level", "info"), { folder: folder.path })
  try {
    for (const [, key, option] of ofReload("restart")) {
      const { pid } = running
      const [, after] = changeOf(option)
      // instances on one port need its number, know each other, and can't share a log
      const text = configuration("service", key, after, { log_level: "info" })
        .replace("port = 0", `port = ${await freePort()}`)
        .replaceAll(/directory = \w+/g, "bootstrap_servers = 127.0.0.1:1")
        .replace(
          "[admin]",
          "[admin]\nreplicas = 127.0.0.1:9\nreplicas_token = obviously-fake-token-of-replicas",
        )
      expect(await reload(running, folder.path, text)).toBe("reloaded")
      await running.logged(({ msg }) => msg === `[service] ${key} takes effect with a restart`)
      expect(running.pid).toBe(pid)
    }
  } finally {
    expect(await running.stop()).toBe(0)
  }
})
