import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { decoder } from "../../src/components/decoder.ts"
import { verifier } from "../../src/components/verifier.ts"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { sharedByTests, temporaryFolder } from "../support/hookline.ts"
import { inCode } from "../support/in-code.ts"
import { startVerified } from "../support/verified.ts"

/*
 * Attacks by handshakes that sign what they are sent with the key that signs events: a stranger has the endpoint sign a text,
 * and posts that text as an event, with the answer as its signature.
 */

const SECRET = "example-not-a-secret"

interface Signing {
  /** The request that has a text signed. */
  readonly ask: (challenge: string) => { query?: string; body?: string; headers?: { [name: string]: string } }
  /** The member of the answer with the signature. */
  readonly member: string
  readonly headers: readonly string[]
  /** The headers of the time that events have. */
  readonly time?: string
}

const zoomHeaders = (body: string) => {
  const time = String(Math.floor(Date.now() / 1000))
  const mac = createHmac("sha256", SECRET).update(`v0:${time}:${body}`).digest("hex")
  return { "x-zm-request-timestamp": time, "x-zm-signature": `v0=${mac}` }
}

const PROVIDERS: { readonly [provider: string]: Signing } = {
  "x-twitter": {
    ask: (text) => ({ query: `?crc_token=${encodeURIComponent(text)}` }),
    member: "response_token",
    headers: ["X-Twitter-Webhooks-Signature-OAuth2", "X-Twitter-Webhooks-Signature"],
  },
  linkedin: {
    ask: (text) => ({ query: `?challengeCode=${encodeURIComponent(text)}` }),
    member: "challengeResponse",
    headers: ["X-LI-Signature"],
  },
  zoom: {
    ask(plainToken) {
      const body = JSON.stringify({ event: "endpoint.url_validation", payload: { plainToken } })
      return { body, headers: zoomHeaders(body) }
    },
    member: "encryptedToken",
    headers: ["x-zm-signature"],
    time: "x-zm-request-timestamp",
  },
}

/** What a stranger would have accepted as an event, and what precedes it in the signed text of a provider. */
const TEXTS = ["type=payment_succeeded", "forged", "1234567890", "", "x".repeat(500)]
const BEFORE = ["", "hmacsha256=", "v0:1700000000:"]
const CONTENT_TYPES = [
  "application/json",
  "application/x-www-form-urlencoded",
  "text/plain",
  "multipart/form-data; boundary=a",
]
const DECODERS = {
  json: { format: "json" },
  form: { format: "form" },
  unwrap: { format: "form", unwrap: "type" },
  multipart: { format: "multipart" },
  text: { format: "text" },
  auto: { format: "auto" },
  wrap: { format: "auto", lists: "wrap" },
  split: { format: "auto", lists: "split" },
} as const

const pairs = Object.keys(PROVIDERS).flatMap((provider) =>
  Object.keys(DECODERS).map((format) => [provider, format as keyof typeof DECODERS] as const),
)
const folder = temporaryFolder()
const running = sharedByTests(
  () =>
    startVerified(
      folder.path,
      Object.fromEntries(
        pairs.map(([provider, format]) => [
          `${provider}-${format}`,
          [verifier({ provider, secret: [SECRET] }), decoder(inCode(DECODERS[format]))],
        ]),
      ),
      { unverifiedRateLimit: 1_000_000 },
    ),
  folder,
)

/** A signature, in each spelling that a scheme might take. */
function spellings(answer: string): string[] {
  const text = answer.replace(/^sha256=/, "")
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/.test(text) ? "hex" : "base64")
  return [`sha256=${bytes.toString("base64")}`, bytes.toString("hex"), `v0=${bytes.toString("hex")}`]
}

async function ask(origin: string, provider: string, challenge: string): Promise<string | undefined> {
  const { query = "", body, headers = {} } = PROVIDERS[provider]!.ask(challenge)
  const method = body === undefined ? "GET" : "POST"
  const answer = await fetch(`${origin}/in${query}`, { method, headers, ...(body !== undefined && { body }) })
  if (answer.headers.get("content-type") !== "application/json") return undefined
  return ((await answer.json()) as { [name: string]: string })[PROVIDERS[provider]!.member]
}

describe.each(pairs)("%s, with a Decoder for %s", (provider, format) => {
  test("publishes no text that a handshake signed", async () => {
    const pipeline = `${provider}-${format}`
    const origin = running.origin(pipeline)
    const { headers, time } = PROVIDERS[provider]!
    let signed = 0
    for (const challenge of BEFORE.flatMap((before) => TEXTS.map((text) => before + text))) {
      const answer = await ask(origin, provider, challenge)
      if (answer === undefined) continue
      signed++
      const bodies = new Set([challenge, ...BEFORE.map((it) => challenge.replace(it, ""))])
      const posts = [...bodies].flatMap((body) =>
        spellings(answer).map((signature, i) =>
          fetch(`${origin}/in`, {
            method: "POST",
            body,
            headers: {
              ...Object.fromEntries(headers.map((name) => [name, signature])),
              ...(time !== undefined && { [time]: String(Math.floor(Date.now() / 1000)) }),
              "Content-Type": CONTENT_TYPES[(signed + i) % CONTENT_TYPES.length]!,
            },
          }),
        ),
      )
      const statuses = (await Promise.all(posts)).map(({ status }) => status)
      expect([challenge, [...new Set(statuses)]]).toEqual([challenge, [401]])
    }
    expect(signed).toBeGreaterThan(3)
    // what the provider itself signed is an event, where its text was not a challenge
    const published = await running.published(pipeline)
    expect(published.filter((value) => !value.includes("endpoint.url_validation"))).toEqual([])
  })
})

test("every provider whose key signs challenges is among them, and no other's handshake signs", () => {
  const signing = Object.entries(PRESETS).flatMap(([name, { scheme }]) =>
    "hmac" in scheme && scheme.hmac.signsChallenges === true ? [name] : [],
  )
  expect(signing.toSorted()).toEqual(Object.keys(PROVIDERS).toSorted())
})
