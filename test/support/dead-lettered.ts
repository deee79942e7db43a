import { createHmac } from "node:crypto"
import { gzipSync } from "node:zlib"

/** What its senders sign with. */
export const SECRET = "example-not-a-secret"

/** A pipeline of signed webhooks whose refused ones go to the topic `<id>.dead`. */
export const deadLettered = (id: string, more = ""): string => `
[pipeline:${id}:WebHookSource]
path = /${id}
max_body_bytes = 64KiB
[pipeline:${id}:Verifier]
provider = github
secret = ${SECRET}
[pipeline:${id}:BrokerSink]
topic = ${id}
key = json:/id
dead_letter_topic = ${id}.dead
${more}
`
/** Posts what a sender that knows the secret posts, unless another is given. */
export async function send(
  url: string,
  body: string,
  { secret = SECRET, gzip = false, type = "application/json" } = {},
): Promise<Response> {
  const signature = createHmac("sha256", secret).update(body).digest("hex")
  return fetch(url, {
    method: "POST",
    body: gzip ? gzipSync(body) : body,
    headers: {
      "Content-Type": type,
      "X-Hub-Signature-256": `sha256=${signature}`,
      ...(gzip ? { "Content-Encoding": "gzip" } : {}),
    },
  })
}
