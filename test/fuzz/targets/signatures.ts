import assert from "node:assert/strict"
import { makeVerifier } from "../../../src/verify/presets/providers.ts"
import { BODY, NOW, OUTSIDE, sendersWith, URL_SENT_TO } from "../../support/senders.ts"
import type { Target } from "../target.ts"

/** Schemes of HMAC, one of each form that headers have. */
const NAMES = [
  "stripe",
  "github",
  "slack",
  "standard-webhooks",
  "zendesk",
  "twitch",
  "box",
  "paddle",
  "shopify",
  "sanity",
]
const SENDERS = sendersWith("http://127.0.0.1:9/keys")
const DIGEST = /[0-9a-f]{40,}|[A-Za-z0-9+/_-]{27,}={0,2}/gi

const schemes = await Promise.all(
  NAMES.map(async (name) => {
    const { settings, send } = SENDERS[name]!
    const { headers = {} } = await send(BODY, NOW, URL_SENT_TO)
    return {
      verifier: makeVerifier(name, settings, OUTSIDE),
      headers,
      digests: digestsIn(Object.values(headers)),
    }
  }),
)

/** What may be a digest in values of headers, in whichever encoding it is. */
function digestsIn(values: readonly string[]): Set<string> {
  const texts = values.flatMap((value) => value.match(DIGEST) ?? [])
  return new Set(
    texts.flatMap((text) => [
      Buffer.from(text, "hex").toString("hex"),
      // a prefix such as `v1` may have been taken for a part of it
      ...[0, 1, 2, 3].map((from) => Buffer.from(text.slice(from), "base64").toString("hex")),
    ]),
  )
}

/** First byte: the scheme; then header lines, an empty one, the body. */
export const signatures: Target = {
  name: "signatures",
  seeds: schemes.map(({ headers }, at) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`)
    return Buffer.concat([Buffer.of(at), Buffer.from(`${lines.join("")}\n${BODY}`)])
  }),
  words: [
    "v1=",
    "t=",
    "v0=",
    "sha256=",
    ",",
    " ",
    ";h1=",
    "v1,",
    "\n\n",
    ": ",
    String(Math.floor(NOW / 1000)),
    "Z",
  ],
  async check(bytes) {
    const scheme = schemes[(bytes[0] ?? 0) % schemes.length]!
    const text = Buffer.from(bytes.subarray(1)).toString("latin1")
    const end = text.indexOf("\n\n")
    const headers = new Headers()
    for (const line of text.slice(0, Math.max(0, end)).split("\n")) {
      const [name = "", ...value] = line.split(": ")
      try {
        headers.append(name, value.join(": "))
      } catch {
        // what is no header, no sender can send
      }
    }
    const body = end === -1 ? new Uint8Array() : bytes.subarray(end + 3)
    const request = { method: "POST", url: URL_SENT_TO, path: "/in", query: "", headers, body }
    const result = await scheme.verifier.verify(request, NOW)
    const explained = await scheme.verifier.explain(request, NOW)
    assert.equal(explained.result.kind, result.kind)
    if (result.kind === "refused") return
    assert.equal(
      Buffer.from(body).toString("latin1"),
      Buffer.from(BODY).toString("latin1"),
      "another body is verified",
    )
    const sent = digestsIn([...headers.values()])
    assert.ok(
      [...scheme.digests].some((digest) => digest.length >= 40 && sent.has(digest)),
      "without the signature",
    )
  },
}
