import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import type { CaptureExplanation } from "../../admin/api/shapes.ts"
import { defineProvider } from "../presets/own-provider.ts"
import type { ProviderRef } from "../presets/providers.ts"
import type { VerifierSettings } from "../schemes/family.ts"
import { diagnose } from "./diagnosis.ts"
import { reportOf, type Report } from "./report.ts"

const KEY = "a-secret-of-nobody"
const BODY = '{"id":"evt_1","amount":100}'
const NOW_S = 1_790_000_000
const hex = (text: string, key = KEY, algorithm = "sha256"): string =>
  createHmac(algorithm, key).update(text).digest("hex")
const base64 = (text: string): string => createHmac("sha256", KEY).update(text).digest("base64")
const stripe = (atS = NOW_S, key = KEY): [string, string] => [
  "Stripe-Signature",
  `t=${atS},v1=${hex(`${atS}.${BODY}`, key)}`,
]

interface Given {
  readonly provider?: ProviderRef
  readonly settings?: VerifierSettings
  readonly headers: readonly (readonly [string, string])[]
  readonly url?: string
  readonly masksSignatures?: boolean | undefined
}

async function report({
  provider = "stripe",
  settings,
  headers,
  url,
  masksSignatures,
}: Given): Promise<Report> {
  const request = {
    method: "POST",
    url: url ?? "https://hooks.example.com/in",
    path: "/in",
    query: "",
    headers: new Headers(headers.map(([name, value]): [string, string] => [name, value])),
    body: Buffer.from(BODY),
  }
  const inquiry = {
    provider,
    settings: { secret: [KEY], ...settings },
    request,
    nowMs: NOW_S * 1000,
    pipeline: "payments",
  }
  return reportOf(inquiry, await diagnose(inquiry), { masksSignatures })
}

const states = ({ steps }: Report): string => steps.map(({ name, state }) => `${name} ${state}`).join(", ")

test.each<[string, Given, string]>([
  ["verified", { headers: [stripe()] }, "Received passed, Signed passed, Signature passed, Time passed"],
  [
    "without its header",
    { headers: [] },
    "Received failed, Signed not reached, Signature not reached, Time not reached",
  ],
  [
    "signed by another secret",
    { headers: [stripe(NOW_S, "other")] },
    "Received passed, Signed passed, Signature failed, Time passed",
  ],
  [
    "too old",
    { headers: [stripe(NOW_S - 400)] },
    "Received passed, Signed passed, Signature passed, Time failed",
  ],
  [
    "too old and signed by another secret",
    { headers: [stripe(NOW_S - 400, "other")] },
    "Received passed, Signed passed, Signature failed, Time failed",
  ],
  [
    "signed in another encoding",
    { provider: "github", headers: [["X-Hub-Signature-256", `sha256=${base64(BODY)}`]] },
    "Received passed, Signed passed, Signature failed",
  ],
  [
    "with a wrong token",
    { provider: "gitlab", headers: [["X-Gitlab-Token", "wrong"]] },
    "Received passed, Token failed",
  ],
  ["without a token", { provider: "gitlab", headers: [] }, "Received failed, Token not reached"],
])("the steps of a request %s", async (_, given, expected) => {
  expect(states(await report(given))).toBe(expected)
})

const acme = defineProvider("acme", { scheme: "hmac", header: ["X-Acme"], prefix: "v1=" })

test.each<[string, Given, string | null]>([
  ["a late request", { headers: [stripe(NOW_S - 400)] }, "[pipeline:payments:Verifier]\ntolerance = 8m"],
  ["a request of yesterday", { headers: [stripe(NOW_S - 86_400)] }, null],
  ["a request of the future", { headers: [stripe(NOW_S + 400)] }, null],
  [
    "another provider",
    { provider: "github", headers: [stripe()] },
    "[pipeline:payments:Verifier]\nprovider = stripe",
  ],
  [
    "white space around the secret",
    { headers: [stripe()], settings: { secret: [`${KEY} `] } },
    "[pipeline:payments:Verifier]\n# secret: the same, without the white space",
  ],
  [
    "another header of a kind that lets choose it",
    { provider: "hmac", settings: { header: "X-Signature" }, headers: [["X-Other", hex(BODY)]] },
    "[pipeline:payments:Verifier]\nheader = x-other",
  ],
  [
    "another header of a preset, which has its own",
    { provider: "shopify", headers: [["X-Other", base64(BODY)]] },
    null,
  ],
  [
    "another encoding and prefix",
    { provider: "hmac", settings: { header: "X-Sig" }, headers: [["X-Sig", `sha256=${base64(BODY)}`]] },
    "[pipeline:payments:Verifier]\nencoding = base64\nprefix = sha256=",
  ],
  [
    "another prefix of a provider of one's own",
    { provider: acme, headers: [["X-Acme", `v2=${hex(BODY)}`]] },
    "[provider:acme]\nprefix = v2=",
  ],
  [
    "a scheme that signs the body alone",
    {
      provider: "slack",
      headers: [
        ["X-Slack-Signature", `v0=${hex(BODY)}`],
        ["X-Slack-Request-Timestamp", String(NOW_S)],
      ],
    },
    "[pipeline:payments:Verifier]\nprovider = hmac\nheader = x-slack-signature\nalgorithm = sha256\nencoding = hex\nprefix = v0=",
  ],
  [
    "the URL behind a proxy",
    {
      provider: "square",
      headers: [["x-square-hmacsha256-signature", base64(`https://hooks.example.com/in${BODY}`)]],
      url: "http://hooks.example.com:8080/in",
    },
    "[pipeline:payments:WebHookSource]\npublic_url = https://hooks.example.com",
  ],
  [
    "the URL with another path",
    {
      provider: "square",
      headers: [["x-square-hmacsha256-signature", base64(`https://hooks.example.com/in/${BODY}`)]],
    },
    "[pipeline:payments:WebHookSource]\npublic_url = https://hooks.example.com/in/",
  ],
  ["a wrong secret", { headers: [stripe(NOW_S, "other")] }, null],
])("the configuration against %s", async (_, given, expected) => {
  expect((await report(given)).configuration).toBe(expected)
})

test("it has the form of the admin API's explanation, and no secret", async () => {
  const explanation: Omit<CaptureExplanation, "answer"> = await report({ headers: [stripe(NOW_S - 400)] })
  expect(explanation).toMatchObject({
    provider: "stripe",
    is_verified: false,
    result:
      "The request is refused (stale): the timestamp is older than the tolerance (timestamp 400 s old).",
    mistakes: [{ problem: expect.stringContaining("only its timestamp is off"), is_certain: true }],
  })
  expect(JSON.stringify(explanation)).not.toContain(KEY)
})

test("with signatures masked, neither one received nor one expected can be read, nor another scheme's token", async () => {
  const given = { headers: [stripe(NOW_S, "other"), ["X-Api-Token", "t0ken-of-another"]] as const }
  const [shown, masked] = [await report(given), await report({ ...given, masksSignatures: true })]
  for (const signature of [hex(`${NOW_S}.${BODY}`), hex(`${NOW_S}.${BODY}`, "other")]) {
    expect(JSON.stringify(shown)).toContain(signature)
    expect(JSON.stringify(masked)).not.toContain(signature)
    expect(JSON.stringify(masked)).toContain(`v1=${signature.slice(0, 6)}…`)
  }
  expect(JSON.stringify(shown)).toContain("t0ken-of-another")
  expect(JSON.stringify(masked)).not.toContain("t0ken-of-another")
  // what was signed stays readable
  expect(JSON.stringify(masked)).toContain(JSON.stringify(BODY).slice(1, -1))
})
