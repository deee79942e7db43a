import { createHmac, randomUUID } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { startHookline, type RunningHookline } from "./hookline.ts"

const SECRET = "obviously-fake-secret"
const CONFIGURATION = `[connection:log]
directory = log
retention = 1h
retention_bytes = 1MiB
[pipeline:all:WebHookSource]
path = /all
max_body_bytes = 1KiB
content_types = application/json
rate_limit = 1000
[pipeline:all:Verifier]
provider = github
secret = ${SECRET}
[pipeline:all:Decoder]
format = json
lists = split
max_list_items = 2
[pipeline:all:Validator]
schema = schema.json
[pipeline:all:Deduplicator]
key = header:X-GitHub-Delivery
store = memory
[pipeline:all:Filter]
when = json:/type
drop = ping
[pipeline:all:Router]
by = json:/type
push = pushes
[pipeline:all:BrokerSink]
topic = all
dead_letter_topic = dead
[pipeline:plain:WebHookSource]
path = /plain
expect_every = 1h
[pipeline:plain:BrokerSink]
topic = plain`

/**
 * Starts, on an embedded log, a pipeline `all` with every processor, GitHub's signatures, and one `plain`.
 *
 * @param sections more of the file
 */
export function startEveryProcessor(folder: string, sections = ""): Promise<RunningHookline> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "schema.json"), '{"properties":{"n":{"type":"number"}}}')
  return startHookline(`${CONFIGURATION}\n${sections}`, { folder })
}

type Headers = { readonly [name: string]: string }

export function post(url: string, body: string, headers: Headers = {}): Promise<Response> {
  return fetch(url, { method: "POST", body, headers })
}

/** Posts to `all` as GitHub would. */
export function postSigned(url: string, body: string, headers: Headers = {}): Promise<Response> {
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`
  return post(url, body, {
    "Content-Type": "application/json",
    "X-GitHub-Delivery": randomUUID(),
    "X-Hub-Signature-256": signature,
    ...headers,
  })
}
