import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { verify } from "./verify.ts"

const KEY = Buffer.from("not-a-real-secret-000")
const SECRET = `whsec_${KEY.toString("base64")}`
const ID = "msg_Caf\u00e9 \u2615"
const NOW_S = 1_790_000_000
const BODY = '{"a":1}'
const SIGNATURE = createHmac("sha256", KEY).update(`${ID}.${NOW_S}.${BODY}`).digest("base64")

const headersWith = (id: string) => ({
  "webhook-id": id,
  "webhook-timestamp": `${NOW_S}`,
  "webhook-signature": `v1,${SIGNATURE}`,
})
const latin1 = Buffer.from(ID).toString("latin1")

test.each([
  ["a character for each byte, as of Node.js", headersWith(latin1)],
  ["a character for each byte, as of Fetch", new Headers(headersWith(latin1))],
  ["decoded as UTF-8, as of some gateways", headersWith(ID)],
])("a signature over an id header in UTF-8 is verified: %s", async (_what, headers) => {
  const request = { url: "/in", headers, body: BODY }
  const options = { provider: "standard-webhooks", secret: SECRET, now: NOW_S * 1000 }
  expect(await verify(request, options)).toMatchObject({ isVerified: true })
})
