import { Sender } from "./sender.ts"

/** What a test sets of a configuration with two workers. */
export interface WorkerParts {
  readonly port: number
  readonly topic?: string
  readonly connection?: string
  readonly workers?: number
  readonly source?: string
  readonly more?: string
  readonly service?: string
  readonly admin?: string
}

export const workersConf = ({
  port,
  topic = "webhooks",
  connection = NOBODY,
  ...parts
}: WorkerParts): string => `
[connection:broker]
${connection}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
${parts.source ?? ""}
[pipeline:webhooks:BrokerSink]
topic = ${topic}
${parts.more ?? ""}
[service]
workers = ${parts.workers ?? 2}
${parts.service ?? ""}
[admin]
listen = ${parts.admin ?? "127.0.0.1:0"}`

/** A Kafka that is not there. */
export const NOBODY = "bootstrap_servers = 127.0.0.1:9"

/** Obviously not a real one, in base64. */
export const SECRET = Buffer.from("obviously-fake-secret-of-32-byte").toString("base64")
export const VERIFIED = `[pipeline:webhooks:Verifier]\nprovider = standard-webhooks\nsecret = whsec_${SECRET}`
/** Verified, and ids remembered in a store. */
export const remembered = (store: string): string =>
  `${VERIFIED}\n[pipeline:webhooks:Deduplicator]\nkey = header:webhook-id\nstore = ${store}`

/** Posts the same request over so many connections, one after the other, and gives the statuses. */
export async function overManyConnections(
  port: number,
  count: number,
  body: string,
  headers: { readonly [name: string]: string },
): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) {
    using sender = new Sender(port, { keepsAlive: false })
    statuses.push((await sender.post("/webhook", body, headers)).status)
  }
  return statuses
}
