import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { runToEnd } from "./child.ts"
import { startConsumer, type RunningConsumer } from "./kafka-clients.ts"
import { kafkaToolsClassPath } from "./kafka-jars.ts"
import { PythonPackages } from "./python-packages.ts"
import { hasTestPackages } from "./tools.ts"

/*
 * Consumers by other people's client libraries, in test/clients, one program each. Alone a program reads partition 0 of a topic,
 * in a group the partitions that it is assigned. For each record it prints `key KEY`, in a group after the offset is committed
 * (kcat aside), and for each assignment `assigned`. It reads until it is ended.
 */

/** What a program gets, as JSON. */
export interface ClientSettings {
  readonly bootstrap: string
  readonly topic: string
  /** None: it reads alone. */
  readonly group?: string
  /** Makes it a static member. */
  readonly instance?: string
  /** From the first record of this time on, in ms since 1970; else from the beginning. */
  readonly sinceMs?: number
  readonly sasl?: { readonly mechanism: string; readonly user: string; readonly password: string }
  /** With it, it connects by TLS. A PEM file. */
  readonly ca?: string
  readonly sessionMs: number
}

export interface ClientProgram {
  readonly name: string
  readonly hasStaticMembers: boolean
  /** It commits now and then and when it leaves, not before it prints a record. */
  readonly leavesToCommit?: boolean
  /** @returns why it can't be run here */
  prepare(): Promise<string | undefined>
  start(settings: ClientSettings): RunningConsumer
}

const CLIENTS = join(import.meta.dir, "../clients")
const CACHE = join(import.meta.dir, "../../node_modules/.cache/hookline-clients")
const GO = { sources: join(CLIENTS, "franz-go"), program: join(CACHE, "franz-go") }
const confluent = new PythonPackages("confluent-kafka==2.16.1")
let javaClassPath = ""

/** Has the program of franz-go built. Returns why it can't be. */
export async function buildFranzGo(): Promise<string | undefined> {
  if (Bun.which("go") === null) return "go is not installed"
  const { status, stderr } = await runToEnd(["go", "build", "-C", GO.sources, "-o", GO.program, "."])
  return status === 0 ? undefined : `go could not build ${GO.sources}: ${stderr.trim()}`
}

export const startFranzGo = (settings: ClientSettings & { readonly generations?: number }): RunningConsumer =>
  startConsumer([GO.program, JSON.stringify(settings)])

async function compileJava(): Promise<string | undefined> {
  if (Bun.which("javac") === null) return "javac is not installed"
  const found = await kafkaToolsClassPath()
  if ("missing" in found) return found.missing
  await mkdir(CACHE, { recursive: true })
  javaClassPath = `${found.classPath}:${CACHE}`
  const source = join(CLIENTS, "ReadTopic.java")
  const { status, stderr } = await runToEnd(["javac", "-cp", found.classPath, "-d", CACHE, source])
  return status === 0 ? undefined : stderr
}

function startJava({ topic, group, sinceMs, ...settings }: ClientSettings): RunningConsumer {
  const text = "org.apache.kafka.common.serialization.StringDeserializer"
  const { bootstrap, instance, sasl, ca, sessionMs } = settings
  const module = sasl?.mechanism === "PLAIN" ? "plain.PlainLoginModule" : "scram.ScramLoginModule"
  const properties: { readonly [name: string]: string | undefined } = {
    "bootstrap.servers": bootstrap,
    "key.deserializer": text,
    "value.deserializer": text,
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "session.timeout.ms": `${sessionMs}`,
    "heartbeat.interval.ms": "200",
    "group.id": group,
    "group.instance.id": instance,
    "security.protocol": securityProtocol(settings),
    "sasl.mechanism": sasl?.mechanism,
    "sasl.jaas.config":
      sasl &&
      `org.apache.kafka.common.security.${module} required username="${sasl.user}" password="${sasl.password}";`,
    "ssl.truststore.type": ca && "PEM",
    "ssl.truststore.location": ca,
  }
  const given = Object.entries(properties).flatMap(([name, value]) => (value ? [`${name}=${value}`] : []))
  const java = ["java", "-XX:TieredStopAtLevel=1", "-cp", javaClassPath, "ReadTopic"]
  return startConsumer([...java, topic, group ?? "", `${sinceMs ?? ""}`, ...given])
}

function startKcat({ topic, group, sinceMs, ...settings }: ClientSettings): RunningConsumer {
  const { bootstrap, instance, sasl, ca, sessionMs } = settings
  const properties: { readonly [name: string]: string | undefined } = {
    "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": "50",
    "session.timeout.ms": `${sessionMs}`,
    "heartbeat.interval.ms": "200",
    "group.instance.id": instance,
    "security.protocol": securityProtocol(settings),
    "sasl.mechanism": sasl?.mechanism,
    "sasl.username": sasl?.user,
    "sasl.password": sasl?.password,
    "ssl.ca.location": ca,
  }
  const given = Object.entries(properties).flatMap(([name, value]) =>
    value === undefined ? [] : ["-X", `${name}=${value}`],
  )
  const from = sinceMs === undefined ? "beginning" : `s@${sinceMs}`
  const what =
    group === undefined ? ["-C", "-t", topic, "-o", from, ...given] : ["-G", group, ...given, topic]
  // -E: it continues when no broker is reached, as the others do
  return startConsumer(["kcat", "-u", "-E", "-b", bootstrap, "-f", "key %k\n", ...what])
}

const securityProtocol = ({ sasl, ca }: Pick<ClientSettings, "sasl" | "ca">): string =>
  `${sasl === undefined ? "" : "SASL_"}${ca === undefined ? "PLAINTEXT" : "SSL"}`

const startScript = (name: string, settings: ClientSettings): RunningConsumer =>
  startConsumer([process.execPath, join(CLIENTS, name), JSON.stringify(settings)])

export const CLIENT_PROGRAMS: readonly ClientProgram[] = [
  {
    name: "kcat (librdkafka)",
    hasStaticMembers: true,
    leavesToCommit: true,
    prepare: async () => (Bun.which("kcat") === null ? "kcat is not installed" : undefined),
    start: startKcat,
  },
  { name: "Java 4.1.0", hasStaticMembers: true, prepare: compileJava, start: startJava },
  {
    name: "confluent-kafka 2.16.1 (Python)",
    hasStaticMembers: true,
    prepare: () => confluent.fetch(),
    start: (settings) =>
      startConsumer(["python3", join(CLIENTS, "confluent.py"), JSON.stringify(settings)], confluent.env),
  },
  { name: "franz-go 1.20.7", hasStaticMembers: true, prepare: buildFranzGo, start: startFranzGo },
  {
    name: "kafkajs 2.2.4",
    hasStaticMembers: false,
    prepare: async () => (hasTestPackages() ? undefined : "no packages of test/"),
    start: (settings) => startScript("kafkajs.ts", settings),
  },
  {
    name: "@platformatic/kafka 2.12.1",
    hasStaticMembers: true,
    prepare: async () => undefined,
    start: (settings) => startScript("platformatic.ts", settings),
  },
]
