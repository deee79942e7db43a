import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import {
  BODY,
  NOW,
  OUTSIDE,
  reencodeHeaders,
  requestOf,
  sendersOfTests,
  toRequest,
  URL_SENT_TO,
} from "../../../test/support/senders.ts"
import { toJsonLine } from "../../commands/record-formats.ts"
import { toLocalTime } from "../../components/local-time.ts"
import { toName } from "../../json/name.ts"
import { splice } from "../../json/splice.ts"
import { findFamily, makeSigner } from "../presets/providers.ts"
import type { VerifierSettings } from "../schemes/family.ts"
import type { SignedRequest } from "../verifier.ts"
import { diagnose, type RequestDiagnosis } from "./diagnosis.ts"
import { describeMistake, type MistakeKind } from "./inquiry.ts"
import MISTAKES from "./mistakes.json" with { type: "json" }

const SENDERS = sendersOfTests()
const KEY = "It's a Secret ✓"

/** A request as the provider sends it, and then as it arrives. */
async function received(
  provider: string,
  settings: VerifierSettings,
  change: (request: SignedRequest) => Partial<SignedRequest> = () => ({}),
  body: string | Uint8Array = BODY,
  atMs = NOW,
): Promise<SignedRequest> {
  const headers = new Headers({ "Content-Type": "application/json" })
  const unsigned = { method: "POST", url: URL_SENT_TO, headers, body: Buffer.from(body), id: "msg_1" }
  const sent = await makeSigner(provider, settings).sign(unsigned, atMs)
  const { pathname, search } = new URL(sent.url)
  const request = { ...sent, path: pathname, query: search.slice(1) }
  return { ...request, ...change(request) }
}
const mistakes = ({ found, possible }: RequestDiagnosis): MistakeKind[] =>
  [...found, ...possible].map(({ kind }) => kind)
const header = (request: SignedRequest, name: string, value: string): Partial<SignedRequest> => {
  const headers = new Headers(request.headers)
  headers.set(name, value)
  return { headers }
}
const ofBody = (change: (body: string) => string | Uint8Array) => (request: SignedRequest) => ({
  body: Buffer.from(change(Buffer.from(request.body).toString())),
})
/** As the Enricher publishes a body. */
const enriched = (body: string): string => {
  const names = [toName("received_at"), toName("source")]
  const members = Buffer.from(`"received_at":"${toLocalTime(NOW)}","source":"webhook"`)
  return Buffer.from(splice(Buffer.from(body), names, members)).toString()
}
const tailLine = (value: string): string =>
  toJsonLine({
    topic: "t",
    partition: 0,
    offset: 3,
    timestampMs: NOW,
    key: undefined,
    headers: [],
    value: Buffer.from(value),
  })
const written = (value: unknown, python = false): string =>
  python ? '{"a": [1, 2], "note": "h\\u00e9llo/"}' : JSON.stringify(value)
const JSON_VALUE = { a: [1, 2], note: "héllo/" }

const NAMED: [string, string, SignedCase, MistakeKind, string][] = [
  [
    "a body that was pretty-printed",
    "github",
    { body: written(JSON_VALUE), change: ofBody((it) => JSON.stringify(JSON.parse(it), null, 2)) },
    "body_reserialised",
    "compact",
  ],
  [
    "a body of a Python sender that was parsed and written again",
    "github",
    { body: written(JSON_VALUE, true), change: ofBody((it) => JSON.stringify(JSON.parse(it))) },
    "body_reserialised",
    "as Python does, with non-ASCII escaped",
  ],
  [
    "a body of a PHP sender that was parsed and written again",
    "github",
    {
      body: String.raw`{"a":[1,2],"note":"h\u00e9llo\/"}`,
      change: ofBody((it) => JSON.stringify(JSON.parse(it))),
    },
    "body_reserialised",
    "PHP",
  ],
  [
    "an indented body that was compacted",
    "stripe",
    { body: JSON.stringify(JSON_VALUE, null, 2), change: ofBody((it) => JSON.stringify(JSON.parse(it))) },
    "body_reserialised",
    "indented by 2 spaces",
  ],
  ["a record's value", "stripe", { change: ofBody(enriched) }, "body_enriched", ""],
  [
    "a record's value with a line end",
    "github",
    { change: ofBody((it) => `${enriched(it)}\n`) },
    "body_enriched",
    "",
  ],
  ["the record of an empty object", "github", { body: "{}", change: ofBody(enriched) }, "body_enriched", ""],
  [
    "a line of tail --format json",
    "github",
    { change: ofBody((it) => tailLine(enriched(it))) },
    "body_enriched",
    "",
  ],
  [
    "a record of a body that had a source of its own",
    "github",
    { body: '{"a":1,"source":"api"}', change: ofBody(enriched) },
    "body_record",
    "a record that Hookline published",
  ],
  [
    "a line of tail of such a body",
    "github",
    { body: '{"a":1,"source":"api"}', change: ofBody((it) => tailLine(enriched(it))) },
    "body_record",
    "a line of hookline tail",
  ],
  [
    "a newline that an editor added",
    "slack",
    { change: ofBody((it) => `${it}\n`) },
    "body_changed",
    "without the final newline",
  ],
  [
    "a newline that was trimmed",
    "slack",
    { body: "{}\n", change: ofBody(() => "{}") },
    "body_changed",
    "with a final newline",
  ],
  [
    "line ends that became LF",
    "shopify",
    { body: "{\r\n}\r\n", change: ofBody((it) => it.replaceAll("\r\n", "\n")) },
    "body_changed",
    "with CR LF instead of LF",
  ],
  [
    "a byte-order mark that was removed",
    "shopify",
    { body: "\uFEFF{}", change: ofBody((it) => it.slice(1)) },
    "body_changed",
    "byte-order mark",
  ],
  [
    "UTF-8 that was decoded as Latin-1",
    "shopify",
    { body: '{"a":"é"}', change: ofBody((it) => Buffer.from(it).toString("latin1")) },
    "body_changed",
    "Latin-1",
  ],
  [
    "a base64 signature where hex is right",
    "github",
    { change: (it) => header(it, "X-Hub-Signature-256", `sha256=${mac(it.body, "base64")}`) },
    "signature_spelling",
    "base64 instead of hex",
  ],
  [
    "a hex signature in upper case, without its prefix",
    "github",
    { change: (it) => header(it, "X-Hub-Signature-256", mac(it.body, "hex").toUpperCase()) },
    "signature_spelling",
    "in upper case, and without the prefix sha256=",
  ],
  [
    "a signature without its prefix",
    "github",
    { change: (it) => header(it, "X-Hub-Signature-256", mac(it.body, "hex")) },
    "signature_spelling",
    "without the prefix sha256=",
  ],
  [
    "an item without its prefix",
    "stripe",
    {
      change: (it) => header(it, "Stripe-Signature", it.headers.get("Stripe-Signature")!.replace("v1=", "")),
    },
    "signature_spelling",
    "without the prefix v1=",
  ],
  [
    "a duplicate signature header",
    "github",
    {
      change: ({ headers: given }) => {
        const headers = new Headers(given)
        headers.append("X-Hub-Signature-256", headers.get("X-Hub-Signature-256")!)
        return { headers }
      },
    },
    "header_twice",
    "x-hub-signature-256",
  ],
  [
    "every header twice",
    "slack",
    {
      change: ({ headers: given }) => {
        const headers = new Headers(given)
        for (const [name, value] of given) headers.append(name, value)
        return { headers }
      },
    },
    "header_twice",
    "x-slack-request-timestamp, x-slack-signature",
  ],
  [
    "a signature in a header that was renamed",
    "shopify",
    {
      change: (it) => {
        const headers = new Headers({ "X-Forwarded-Hmac": it.headers.get("X-Shopify-Hmac-Sha256")! })
        return { headers }
      },
    },
    "header_other",
    "x-forwarded-hmac for x-shopify-hmac-sha256",
  ],
  [
    "a signature by SHA-1",
    "github",
    { change: (it) => header(it, "X-Hub-Signature-256", `sha1=${mac(it.body, "hex", KEY, "sha1")}`) },
    "signature_scheme",
    "HMAC by SHA-1",
  ],
  [
    "a signature of the body alone",
    "slack",
    { change: (it) => header(it, "X-Slack-Signature", `v0=${mac(it.body, "hex")}`) },
    "signature_scheme",
    "of the body alone",
  ],
  [
    "another path, with a slash",
    "square",
    { change: () => ({ url: URL_SENT_TO.replace("/in?", "/in/?") }) },
    "url_other",
    URL_SENT_TO,
  ],
  [
    "http behind a proxy that ended TLS, at its own port",
    "hubspot",
    {
      change: () => ({
        url: URL_SENT_TO.replace("https://hooks.example.com", "http://hooks.example.com:8080"),
      }),
    },
    "url_other",
    URL_SENT_TO,
  ],
  [
    "an inner host, where a proxy says the outer one",
    "trello",
    {
      change: (it) => ({
        ...header(it, "X-Forwarded-Host", "hooks.example.com"),
        url: URL_SENT_TO.replace("hooks.example.com", "10.0.0.7"),
      }),
    },
    "url_other",
    URL_SENT_TO,
  ],
  ["an old request", "stripe", { atMs: NOW - 412_000 }, "time_off", "timestamp 412 s old"],
  ["a request of the future", "slack", { atMs: NOW + 9_000_000 }, "time_off", "timestamp 9000 s ahead"],
  ["a time in milliseconds", "stripe", { atMs: NOW * 1000 }, "time_unit", "milliseconds instead of seconds"],
  [
    "a time in seconds",
    "workos",
    { atMs: Math.floor(NOW / 1000) },
    "time_unit",
    "seconds instead of milliseconds",
  ],
  ["another provider's request", "stripe", { by: "mux" }, "provider_other", "mux"],
  [
    "white space around the secret",
    "github",
    { settings: { secret: [`${KEY}\n`] } },
    "secret_around",
    "white space",
  ],
  ["quotes around the secret", "github", { settings: { secret: [`"${KEY}"`] } }, "secret_around", "quotes"],
  [
    "a secret that was split at its comma",
    "github",
    { signedWith: { secret: [`${KEY},more`] }, settings: { secret: [KEY, "more"] } },
    "secret_split",
    "2 secrets",
  ],
  [
    "a secret with two commas among others",
    "github",
    { signedWith: { secret: [`${KEY}, a,b`] }, settings: { secret: ["other", KEY, "a,b"] } },
    "secret_split",
    "3 secrets",
  ],
  [
    "a list of secrets that was read as one",
    "github",
    { signedWith: { secret: [KEY] }, settings: { secret: [`old, ${KEY}`] } },
    "secret_joined",
    "2 secrets",
  ],
  [
    "a secret that lost its prefix",
    "stripe",
    { signedWith: { secret: ["whsec_abc"] }, settings: { secret: ["abc"] } },
    "secret_form",
    "with the prefix whsec_",
  ],
  [
    "a secret that was decoded although it is text",
    "pagerduty",
    {
      signedWith: { secret: ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] },
      settings: { secret: ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] },
      change: (it) =>
        header(
          it,
          "X-PagerDuty-Signature",
          `v1=${mac(it.body, "hex", Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64"))}`,
        ),
    },
    "secret_form",
    "decoded from base64",
  ],
  [
    "a whsec_ secret that was used as text",
    "svix",
    {
      signedWith: { secret: ["whsec_c2VjcmV0"] },
      settings: { secret: ["whsec_c2VjcmV0"] },
      change: (it) =>
        header(
          it,
          "svix-signature",
          `v1,${mac(`msg_1.${it.headers.get("svix-timestamp")}.${BODY}`, "base64", "whsec_c2VjcmV0")}`,
        ),
    },
    "secret_form",
    "used as text",
  ],
  [
    "a token with its scheme in the secret",
    "alertmanager",
    { signedWith: { secret: ["t0ken"] }, settings: { secret: ["Bearer t0ken"] } },
    "secret_form",
    "without the prefix Bearer",
  ],
  [
    "a password with a newline",
    "chargebee",
    {
      signedWith: { username: "u", password: ["p"] },
      settings: { username: "u", password: ["p\n"] },
    },
    "secret_around",
    "white space",
  ],
  [
    "a missing header",
    "slack",
    { change: () => ({ headers: new Headers({ "X-Slack-Request-Timestamp": String(NOW) }) }) },
    "header_missing",
    "X-Slack-Signature",
  ],
  [
    "an empty header",
    "github",
    { change: (it) => header(it, "X-Hub-Signature-256", "") },
    "header_empty",
    "X-Hub-Signature-256",
  ],
  ["a body that was read before", "github", { change: () => ({ body: new Uint8Array() }) }, "body_empty", ""],
  ["a body that was cut off", "github", { change: ofBody((it) => it.slice(0, 30)) }, "body_truncated", ""],
  [
    "a body that was decoded as text",
    "github",
    { body: Buffer.from([0x22, 0xe9, 0x22]), change: ofBody((it) => it) },
    "body_decoded",
    "",
  ],
  [
    "an old request with a wrong secret",
    "stripe",
    { atMs: NOW - 412_000, settings: { secret: ["an0ther"] } },
    "signature_too",
    "",
  ],
  ["a wrong secret", "github", { settings: { secret: ["an0ther"] } }, "secret_wrong", ""],
  [
    "a wrong URL",
    "square",
    { change: () => ({ url: "https://else.example/x" }) },
    "url_unlike",
    "else.example",
  ],
]

interface SignedCase {
  readonly by?: string
  readonly signedWith?: VerifierSettings
  readonly settings?: VerifierSettings
  readonly body?: string | Uint8Array
  readonly atMs?: number
  readonly change?: (request: SignedRequest) => Partial<SignedRequest>
}

function mac(
  content: string | Uint8Array,
  encoding: "hex" | "base64",
  key: string | Uint8Array = KEY,
  hash = "sha256",
): string {
  return createHmac(hash, key).update(content).digest(encoding)
}

describe("the likely mistake is named", () => {
  test.each(NAMED)("%s (%s)", async (_, provider, given, kind, detail) => {
    const { by = provider, signedWith = { secret: [KEY] }, settings = signedWith, change, body, atMs } = given
    const request = await received(by, signedWith, change, body, atMs)
    const diagnosis = await diagnose({ provider, settings, request, nowMs: NOW }, OUTSIDE)
    expect(diagnosis.explanation.result.kind).toBe("refused")
    expect(mistakes(diagnosis)).toContain(kind)
    const named = [...diagnosis.found, ...diagnosis.possible].find((it) => it.kind === kind)!
    expect(named.detail).toContain(detail)
    for (const secret of [...(settings.secret ?? []), ...(settings.password ?? [])]) {
      if (secret.length < 3) continue
      const words = [...diagnosis.found, ...diagnosis.possible].map(describeMistake)
      expect(JSON.stringify(words)).not.toContain(secret)
    }
  })

  test("every kind of mistake has a case here, except possible causes", () => {
    const named = new Set(NAMED.map(([, , , kind]) => kind))
    expect(Object.keys(MISTAKES).filter((kind) => !named.has(kind as MistakeKind))).toEqual(["body_unlike"])
  })
})

describe.each(Object.entries(SENDERS))("%s", (provider, sender) => {
  test("a valid request has no mistakes", async () => {
    const request = await requestOf(sender)
    const { found, possible, explanation } = await diagnose(
      { provider, settings: sender.settings, request, nowMs: NOW },
      OUTSIDE,
    )
    expect([explanation.result.kind, found, possible]).toEqual(["verified", [], []])
  })

  test("a wrong key is not explained by another mistake", async () => {
    const request = await requestOf(sender)
    const { found, possible, explanation } = await diagnose(
      { provider, settings: sender.wrong, request, nowMs: NOW },
      OUTSIDE,
    )
    expect([explanation.result.kind, found]).toEqual(["refused", []])
    const isClaim = explanation.result.kind === "refused" && explanation.result.reason === "wrong_claim"
    expect(possible.some(({ kind }) => kind === "secret_wrong")).toBe(!isClaim)
  })

  const { signs = "body", signsUrl, toleranceS } = sender
  const unless = findFamily(provider)!.toleranceMs === 0 ? { tolerance: (toleranceS ?? 0) * 1000 } : {}
  const sendAt = async (ms: number): Promise<SignedRequest> => requestOf(sender, ms)
  /** The mistakes that are named when the request arrives with a change. */
  const namedOf = async (
    change: (right: SignedRequest) => Partial<SignedRequest>,
    atMs = NOW,
  ): Promise<string[]> => {
    const right = await sendAt(atMs)
    const settings = { ...sender.settings, ...unless }
    const request = { ...right, ...change(right) }
    return mistakes(await diagnose({ provider, settings, request, nowMs: NOW }, OUTSIDE))
  }
  const ownHeaders = async (): Promise<string[]> =>
    [...(await sendAt(NOW)).headers.keys()].filter((name) => name !== "content-type")

  test("an empty header is named, and a duplicate one", async () => {
    for (const name of await ownHeaders()) {
      expect([name, await namedOf((it) => header(it, name, ""))]).toEqual([name, ["header_empty"]])
      const twice = await namedOf((it) =>
        header(it, name, `${it.headers.get(name)}, ${it.headers.get(name)}`),
      )
      // Mollie's may come twice
      expect([name, twice]).toEqual([name, provider === "mollie" ? [] : ["header_twice"]])
    }
  })

  if (toleranceS !== undefined)
    test("a time that is off either way is named", async () => {
      for (const offS of [-toleranceS - 60, toleranceS + 60])
        expect(await namedOf(() => ({}), NOW + offS * 1000)).toEqual(["time_off"])
    })

  if (signsUrl === true)
    test("a request to another URL names the right one", async () => {
      const named = await namedOf((it) => ({ url: it.url.replace("x=1", "x=2") }))
      expect(named).toContain("url_unlike")
    })

  if (signs === "body") {
    // tokens have one encoding, and of whom nobody else can sign as there is no example
    if (findFamily(provider)!.family !== "jwt" && findFamily(provider)!.signer !== undefined)
      test("a signature in another encoding is named", async () => {
        const isInQuery = (await requestOf(sender)).query.includes("signature")
        expect(await namedOf(({ headers }) => ({ headers: reencodeHeaders(headers) }))).toEqual(
          isInQuery ? [] : ["signature_spelling"],
        )
      })
  }

  test("an empty request lacks something", async () => {
    const request = toRequest({ body: sender.body ?? BODY })
    const { explanation, found } = await diagnose(
      { provider, settings: sender.settings, request, nowMs: NOW },
      OUTSIDE,
    )
    // what Amazon SNS sends is recognized by its body, which this is not
    const isOther = provider === "aws-sns"
    const reason = isOther ? "malformed" : "missing_header"
    expect(explanation.result).toMatchObject({ kind: "refused", reason })
    expect(found.map(({ kind }) => kind)).toEqual(isOther ? [] : ["header_missing"])
  })
})
