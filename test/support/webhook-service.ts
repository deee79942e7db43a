import { eventsIn, type Logged } from "./findings.ts"
import { startHookline, type RunningHookline } from "./hookline.ts"
import type { TestKafka } from "./kafka.ts"
import { readWithKcat } from "./kcat.ts"
import { valuesInLog } from "./log-values.ts"
import type { Target } from "./numbered-senders.ts"

/** What a scenario sets of a Hookline with one pipeline. */
export interface ServiceSettings {
  readonly folder: string
  /** Lines of its connection. */
  readonly connection: string
  readonly topic: string
  /** Hookline's default, unless given. */
  readonly deliveryTimeoutMs?: number
  /** 0, unless given: any. */
  readonly port?: number
  /** More lines of its source. */
  readonly source?: string
  /** More lines of `[service]`. */
  readonly service?: string
  readonly env?: { readonly [name: string]: string }
  /** How many descriptors it may have open. */
  readonly descriptors?: number
}

/** What a scenario on an embedded log beside the configuration file sets, where nothing else matters. */
export const ON_LOG = { connection: "directory = log", topic: "webhooks" } as const

/** Starts a Hookline whose pipeline `webhooks` publishes events with the key that they carry. */
export function startService(settings: ServiceSettings): Promise<RunningHookline> {
  const { folder, env = {}, descriptors } = settings
  const limited = descriptors === undefined ? {} : { descriptors }
  return startHookline(configurationOf(settings), { folder, env, ...limited })
}

/** The configuration that `startService` starts with. */
export function configurationOf(settings: Omit<ServiceSettings, "folder">): string {
  const { connection, topic, deliveryTimeoutMs, port = 0, source = "", service = "" } = settings
  const timeout = deliveryTimeoutMs === undefined ? "" : `delivery_timeout = ${deliveryTimeoutMs}ms`
  return `[connection:broker]
${connection}
${timeout}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
${source}
[pipeline:webhooks:BrokerSink]
topic = ${topic}
key = json:/k
[service]
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
  return eventsIn((await readWithKcat(kafka, topic)).map(({ value }) => value.toString()))
}

/** The events of an embedded log's topic, whose offsets have no gaps. */
export async function eventsInLog(directory: string, topic: string): Promise<Logged[]> {
  return eventsIn(await valuesInLog(directory, topic))
}
