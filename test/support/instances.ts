import { Sender } from "./sender.ts"

/** What a test sets of an instance that shares its port with others. */
export interface InstanceParts {
  readonly port: number
  /** Of its admin listener. */
  readonly adminPort: number
  /** Of the admin listeners of all. */
  readonly adminPorts: readonly number[]
  readonly topic?: string
  readonly connection?: string
  readonly source?: string
  /** More sections. */
  readonly more?: string
  readonly service?: string
}

/** The configuration of one of several instances on one port. */
export const instanceConf = ({
  port,
  adminPort,
  adminPorts,
  topic = "webhooks",
  connection = NOBODY,
  ...parts
}: InstanceParts): string => `
[connection:broker]
${connection}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
${parts.source ?? ""}
[pipeline:webhooks:BrokerSink]
topic = ${topic}
key = json:/k
${parts.more ?? ""}
[service]
reuse_port = on
${parts.service ?? ""}
[admin]
listen = 127.0.0.1:${adminPort}
capture = all
replicas = ${adminPorts.map((it) => `127.0.0.1:${it}`).join(", ")}
replicas_token = obviously-fake-token-of-replicas`

/** A Kafka that is not there. */
const NOBODY = "bootstrap_servers = 127.0.0.1:9"

/** Obviously not a real one, in base64. */
export const SECRET = Buffer.from("obviously-fake-secret-of-32-byte").toString("base64")
/** Events with signed ids, which a Redis remembers. */
export const remembered = (redis: string): string =>
  `[pipeline:webhooks:Verifier]\nprovider = standard-webhooks\nsecret = whsec_${SECRET}
[pipeline:webhooks:Deduplicator]\nkey = header:webhook-id\nstore = ${redis}`

/** Posts the same request over so many connections, one after the other, and gives the statuses. */
export async function overManyConnections(
  port: number,
  count: number,
  body: string,
  headers: { readonly [name: string]: string } = {},
): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) {
    using sender = new Sender(port, { keepsAlive: false })
    statuses.push((await sender.post("/webhook", body, headers)).status)
  }
  return statuses
}
