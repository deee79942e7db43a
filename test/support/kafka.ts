import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  Admin,
  ConfigResourceTypes,
  IncrementalAlterConfigOperationTypes,
} from "../../src/brokers/kafka/client-library.ts"
import { reasonOf } from "../../src/brokers/kafka/failure.ts"
import { kafkaClassPath, USES_ZOOKEEPER } from "./kafka-jars.ts"
import { KafkaNode } from "./kafka-node.ts"
import { kafkaTemplate } from "./kafka-template.ts"
import { freePorts } from "./ports.ts"
import { startZooKeeper } from "./zookeeper.ts"
import { hasTools, lacks, usesKafka } from "./tools.ts"

/** A Kafka that tests may publish to. It is shared: use topics of your own (see `freshTopic`). */
export interface TestKafka {
  /** `host:port` of each broker. */
  readonly bootstrapServers: readonly string[]
}

/** A Kafka that a test started and may break. Disposing of it stops it. */
export interface OwnKafka extends TestKafka, AsyncDisposable {
  readonly nodes: readonly KafkaNode[]
  /** `host:port` of each broker at one of the listeners that were asked for. */
  readonly listener: (name: string) => readonly string[]
  /** Kills every broker and removes the data. */
  readonly stop: () => Promise<void>
}

export interface KafkaSettings {
  /** How many brokers; 1 unless given. */
  readonly brokers?: number
  /** The port of the first one's plaintext listener; a free one unless given. */
  readonly port?: number
  /** How many of them, the first ones, are controllers as well; all unless given. */
  readonly controllers?: number
  /** Listeners beside the plaintext one: name to security protocol. */
  readonly listeners?: { readonly [name: string]: "PLAINTEXT" | "SSL" | "SASL_PLAINTEXT" | "SASL_SSL" }
  /** The `host:port` that a listener tells its clients, where that is not its own; or those of each broker. */
  readonly advertised?: { readonly [listener: string]: string | readonly string[] }
  readonly properties?: { readonly [key: string]: string }
  /** Whether its virtual machine compiles as for years of work; else as for seconds, which halves what a start costs. */
  readonly isForLoad?: boolean
  /** Options of its virtual machine. */
  readonly jvm?: readonly string[]
  /** A folder with classes of a test's own. */
  readonly classes?: string
  /** Where each broker runs: its address and the command before `java`; all on this machine's 127.0.0.1 unless given. */
  readonly machines?: readonly { readonly address: string; readonly command: readonly string[] }[]
  /** Users for SCRAM, as `StorageTool --add-scram` takes them. */
  readonly scram?: readonly string[]
}

let shared: Promise<TestKafka | undefined> | undefined
let available: Promise<{ classPath: string } | undefined> | undefined

/**
 * The Kafka that all test files of a run share, started by the first that asks: the one that
 * HOOKLINE_TEST_BOOTSTRAP_SERVERS names, else one of its own. Undefined where there is none to be had, as
 * `hasTools`.
 */
export function kafkaForTests(): Promise<TestKafka | undefined> {
  shared ??= (async () => {
    const given = process.env.HOOKLINE_TEST_BOOTSTRAP_SERVERS
    if (given !== undefined && given !== "") {
      usesKafka()
      return { bootstrapServers: given.split(",") }
    }
    return (await canStartKafka()) ? startKafka() : undefined
  })()
  return shared
}

/** Whether `startKafka` can work here; if not, as `hasTools`. */
export async function canStartKafka(): Promise<boolean> {
  return (await classPath()) !== undefined
}

function classPath(): Promise<{ classPath: string } | undefined> {
  available ??= (async () => {
    if (!hasTools("java", "mvn")) return undefined
    const found = await kafkaClassPath()
    if ("classPath" in found) return found
    lacks(found.missing)
    return undefined
  })()
  return available
}

/** Starts brokers of Apache Kafka on free ports of 127.0.0.1, each a controller as well unless fewer are wanted. */
export async function startKafka(settings: KafkaSettings = {}): Promise<OwnKafka> {
  const found = await classPath()
  if (found === undefined) throw new Error("there is no Kafka to start; ask canStartKafka first")
  usesKafka()
  const template = USES_ZOOKEEPER ? undefined : await kafkaTemplate(found.classPath)
  const jvm = [
    ...(template === undefined ? [] : [`-XX:SharedArchiveFile=${template.classArchive}`]),
    ...(settings.isForLoad === true ? [] : ["-XX:TieredStopAtLevel=1"]),
    ...(settings.jvm ?? []),
  ]
  const { bootstrapCheckpoint } = template ?? {}
  const classes = settings.classes === undefined ? "" : `:${settings.classes}`
  const runtime = {
    classPath: `${found.classPath}${classes}`,
    jvm,
    ...(bootstrapCheckpoint && { bootstrapCheckpoint }),
  }
  const folder = await mkdtemp(join(tmpdir(), "hookline-kafka-"))
  const zooKeeper = USES_ZOOKEEPER ? await startZooKeeper(runtime, join(folder, "zookeeper")) : undefined
  const count = settings.brokers ?? 1
  const names = ["PLAINTEXT", ...Object.keys(settings.listeners ?? {}), "CONTROLLER"]
  const ports = await freePorts(count * names.length)
  if (settings.port !== undefined) ports[0] = settings.port
  const port = (node: number, name: string): number => ports[node * names.length + names.indexOf(name)]!
  const cluster = randomUUID()
  const all = Array.from({ length: count }, (_, node) => node)
  const nodes = all.map((node) => {
    const { command } = settings.machines?.[node] ?? {}
    const own = command === undefined ? runtime : { ...runtime, command }
    return new KafkaNode(own, join(folder, `${node}`), `${port(node, "PLAINTEXT")}`)
  })
  const address = (node: number, name: string): string =>
    `${settings.machines?.[node]?.address ?? "127.0.0.1"}:${port(node, name)}`
  const advertised = (node: number, name: string): string => {
    const given = settings.advertised?.[name]
    return (typeof given === "object" ? given[node] : given) ?? address(node, name)
  }
  const controllers = all.slice(0, settings.controllers)
  await Promise.all(
    nodes.map(async (made, node) => {
      const properties = {
        ...broker(count),
        ...(zooKeeper === undefined
          ? {
              "node.id": `${node + 1}`,
              "process.roles": controllers.includes(node) ? "broker,controller" : "broker",
              "controller.listener.names": "CONTROLLER",
              "controller.quorum.voters": controllers
                .map((n) => `${n + 1}@${address(n, "CONTROLLER")}`)
                .join(","),
            }
          : { "broker.id": `${node + 1}`, ...zooKeeper.properties }),
        "advertised.listeners": names
          .filter((name) => name !== "CONTROLLER")
          .map((name) => `${name}://${advertised(node, name)}`)
          .join(","),
        listeners: names
          .filter((name) => name !== "CONTROLLER" || (zooKeeper === undefined && controllers.includes(node)))
          .map((name) => `${name}://${address(node, name)}`)
          .join(","),
        "listener.security.protocol.map": Object.entries({
          PLAINTEXT: "PLAINTEXT",
          CONTROLLER: "PLAINTEXT",
          ...settings.listeners,
        })
          .map(([name, protocol]) => `${name}:${protocol}`)
          .join(","),
        ...settings.properties,
      }
      if (zooKeeper !== undefined) return made.configure(properties)
      await made.format(
        properties,
        cluster,
        (settings.scram ?? []).flatMap((user) => ["--add-scram", user]),
      )
    }),
  )
  await Promise.all(nodes.map((node) => node.start()))
  const bootstrapServers = all.map((node) => address(node, "PLAINTEXT"))
  if (zooKeeper !== undefined) await knowEachOther(bootstrapServers)
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()))
    await zooKeeper?.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    bootstrapServers,
    listener: (name) => all.map((node) => address(node, name)),
    nodes,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** With ZooKeeper a broker serves before it is in its own metadata, and creates no topics until then. */
async function knowEachOther(bootstrapServers: readonly string[]): Promise<void> {
  for (const server of bootstrapServers) {
    await administer({ bootstrapServers: [server] }, async (admin) => {
      while ((await admin.metadata({ topics: [], forceUpdate: true })).brokers.size < bootstrapServers.length)
        await Bun.sleep(20)
    })
  }
}

/** Starts a broker that takes batches up to 20,000 bytes, and has these topics and makes no others. */
export async function startStrictKafka(topics: readonly string[]): Promise<OwnKafka> {
  const kafka = await startKafka({
    properties: { "message.max.bytes": "20000", "auto.create.topics.enable": "false" },
  })
  for (const topic of topics) await createTopic(kafka, topic)
  return kafka
}

/** Settings for one machine, short waits and few threads. */
function broker(count: number): { readonly [key: string]: string } {
  const replicas = `${Math.min(count, 3)}`
  return {
    "inter.broker.listener.name": "PLAINTEXT",
    "default.replication.factor": replicas,
    "offsets.topic.replication.factor": replicas,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": replicas,
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": replicas,
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "log.cleaner.dedupe.buffer.size": "4194304",
    // A broker that was killed may come back once its session is over.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
  }
}

/** A topic name that no other test uses. */
export function freshTopic(word = "test"): string {
  return `${word}-${randomUUID().slice(0, 8)}`
}

export interface TopicSettings {
  readonly partitions?: number
  readonly replicas?: number
  readonly configs?: { readonly [key: string]: string }
}

/** Creates a topic and waits until every partition of it has a leader. */
export const createTopic = (kafka: TestKafka, topic: string, settings?: TopicSettings): Promise<void> =>
  createTopics(kafka, [topic], settings)

/** As `createTopic`, all of them by one request. */
export async function createTopics(
  kafka: TestKafka,
  topics: readonly string[],
  { partitions = 1, replicas = -1, configs = {} }: TopicSettings = {},
): Promise<void> {
  const settings = Object.entries(configs).map(([name, value]) => ({ name, value }))
  try {
    await administer(kafka, async (admin) => {
      await admin.createTopics({ topics: [...topics], partitions, replicas, configs: settings })
      const ready = async (): Promise<boolean> => {
        const metadata = await admin.metadata({ topics: [...topics], forceUpdate: true }).catch((error) => {
          // the broker that answers may not have heard of it yet
          if (!reasonOf(error).startsWith("Unknown topic")) throw error
        })
        const made = [...(metadata?.topics.values() ?? [])]
        return (
          made.length === topics.length &&
          made.every(
            (it) => it.partitionsCount === partitions && it.partitions.every(({ leader }) => leader >= 0),
          )
        )
      }
      while (!(await ready())) await Bun.sleep(20)
    })
  } catch (error) {
    // The library's error holds every attempt and fills the screen, so it is not passed on as the cause.
    // oxlint-disable-next-line preserve-caught-error
    throw new Error(`${topics.join(", ")} could not be created: ${reasonOf(error)}`)
  }
}

/** Where the partitions of a topic are: ids of the leader (-1: none), of the replicas, and of those in sync. Node 0 has id 1. */
export async function partitionsOf(
  kafka: TestKafka,
  topic: string,
): Promise<
  readonly {
    readonly leader: number
    readonly replicas: readonly number[]
    readonly isr: readonly number[]
  }[]
> {
  const { topics } = await administer(kafka, (admin) =>
    admin.metadata({ topics: [topic], forceUpdate: true }),
  )
  return topics.get(topic)!.partitions
}

/** Administers a cluster by the client library's own way. */
export async function administer<T>(kafka: TestKafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({
    clientId: "hookline-test",
    bootstrapBrokers: [...kafka.bootstrapServers],
    retries: 50,
    retryDelay: 50,
  })
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}

export const topicNames = (kafka: TestKafka): Promise<string[]> =>
  administer(kafka, (admin) => admin.listTopics())

export const deleteTopic = (kafka: TestKafka, topic: string): Promise<unknown> =>
  administer(kafka, (admin) => admin.deleteTopics({ topics: [topic] }))

/** Sets one of a topic's own settings. */
export function setTopic(
  kafka: TestKafka,
  resourceName: string,
  name: string,
  value: string,
): Promise<unknown> {
  const { SET: configOperation } = IncrementalAlterConfigOperationTypes
  const configs = [{ name, value, configOperation }]
  const resources = [{ resourceType: ConfigResourceTypes.TOPIC, resourceName, configs }]
  return administer(kafka, (admin) => admin.incrementalAlterConfigs({ resources }))
}
