import { expect } from "bun:test"
import { openEmbeddedReader } from "../../src/brokers/embedded-reader.ts"
import { eventsIn, type Logged } from "./findings.ts"
import { startHookline, type RunningHookline } from "./hookline.ts"
import type { TestKafka } from "./kafka.ts"
import { readWithKcat } from "./kcat.ts"
import type { Target } from "./numbered-senders.ts"

/** What a scenario sets of a Hookline with one pipeline. */
export interface ServiceSettings {
  readonly folder: string
  /** Lines of its connection. */
  readonly connection: string
  readonly topic: string
  readonly deliveryTimeoutMs: number
  /** 0, unless given: any. */
  readonly port?: number
  /** 1, unless given; several need a port. */
  readonly workers?: number
  /** More lines of its source. */
  readonly source?: string
  /** More lines of `[service]`. */
  readonly service?: string
  readonly env?: { readonly [name: string]: string }
}

/** Starts a Hookline whose pipeline `webhooks` publishes events with the key that they carry. */
export function startService(settings: ServiceSettings): Promise<RunningHookline> {
  const { folder, env = {} } = settings
  return startHookline(configurationOf(settings), { folder, env })
}

/** The configuration that `startService` starts with. */
export function configurationOf(settings: ServiceSettings): string {
  const { connection, topic, deliveryTimeoutMs, port = 0, workers = 1, source = "", service = "" } = settings
  return `[connection:broker]
${connection}
delivery_timeout = ${deliveryTimeoutMs}ms
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
${source}
[pipeline:webhooks:BrokerSink]
topic = ${topic}
key = json:/k
[service]
workers = ${workers}
${service}
[admin]
listen = 127.0.0.1:0`
}

/** Where to post events to it. */
export const serving = ({ urls, pid }: RunningHookline): Target => ({ url: urls["webhooks"]!, pid })

/** The connection's lines for a Kafka. */
export const onKafka = ({ bootstrapServers }: TestKafka): string =>
  `bootstrap_servers = ${bootstrapServers.join(", ")}`

/** The events of a Kafka's topic, as another client reads them. */
export async function eventsInKafka(kafka: TestKafka, topic: string): Promise<Logged[]> {
  return eventsIn((await readWithKcat(kafka, topic)).map(({ value }) => value))
}

/** The events of an embedded log's topic, whose offsets have no gaps. */
export async function eventsInLog(directory: string, topic: string): Promise<Logged[]> {
  const reader = openEmbeddedReader(directory)
  const { signal } = new AbortController()
  const records = await Array.fromAsync(reader.read(topic, { from: "beginning", follow: false, signal }))
  await reader.close()
  expect(records.findIndex(({ offset }, at) => offset !== at)).toBe(-1)
  return eventsIn(records.map(({ value }) => value))
}
