import { createPublicKey, generateKeyPairSync } from "node:crypto"
import { describeSender } from "../../scripts/sender-sections.ts"
import advice from "../../src/verify/explain/advice.json" with { type: "json" }
import mistakes from "../../src/verify/explain/mistakes.json" with { type: "json" }
import { PRESETS, type Preset } from "../../src/verify/presets/presets.ts"
import { findFamily, makeSigner, makeVerifier } from "../../src/verify/presets/providers.ts"
import { SAMPLE_SETTINGS, samplePipeline } from "../../src/verify/samples/sample-pipeline.ts"
import { hasSample, sampleRequest } from "../../src/verify/samples/samples.ts"
import type { Family, SettingKey, VerifierSettings } from "../../src/verify/schemes/family.ts"
import { SECRET_FORMS } from "../../src/verify/schemes/secrets.ts"
import {
  REASON_WORDS,
  Refused,
  Verified,
  type RefusedReason,
  type SignedRequest,
} from "../../src/verify/verifier.ts"
import { slugOf, type Page } from "./page.ts"
import { isInBox } from "./why.ts"

const EVENT = {
  id: "0e2ba5a4-9d3c-4a8e-8f0f-6a1c9f3d7b52",
  number: 1,
  atMs: Date.UTC(2026, 10, 20, 13, 3, 7),
}
const HOUR_MS = 3_600_000

const SECRETS: { readonly [form: string]: string } = {
  [SECRET_FORMS.hex]: "0123456789abcdef0123456789abcdef",
  [SECRET_FORMS.base64]: "b2J2aW91c2x5LWZha2Utc2VjcmV0LW9mLXRlc3Rz",
  [SECRET_FORMS.whsec]: "whsec_b2J2aW91c2x5LWZha2Utc2VjcmV0LW9mLXRlc3Rz",
}

/** A page for each sender that is known by name, and one that lists them. */
export async function senderPages(): Promise<Page[]> {
  const pages = await Promise.all(Object.entries(PRESETS).map(([name, preset]) => senderPage(name, preset)))
  const rows = Object.entries(PRESETS)
    .toSorted(([, a], [, b]) => a.title.localeCompare(b.title))
    .map(([name, { title }]) => `| [${title}](docs/providers.md#${slugOf(title)}) | \`${name}\` |`)
  const list = [
    "# Senders",
    "",
    `${pages.length} senders are verified by name. Each page has where to click, what to paste, a sample, and the fix for each refusal. A sender without a name is described by [its scheme](docs/own-providers.md).`,
    "",
    "| sender | `provider` |",
    "|---|---|",
    ...rows,
  ]
  return [{ route: "senders", file: "README.md", markdown: list.join("\n") }, ...pages]
}

async function senderPage(name: string, preset: Preset): Promise<Page> {
  const family = findFamily(name)!
  const items = describeSender(name, preset).map((it) => /^- \*\*(.+?)\*\*: (.*)$/s.exec(it)!)
  const said = (subject: string, heading = subject): string[] =>
    items
      .filter((it) => it[1] === subject)
      .flatMap(([, , text]) => [`## ${heading}`, "", sentence(text!), ""])
  const keys = keysFor(family)
  const lines = keys.map((key): [SettingKey, string] => [
    key,
    SAMPLE_SETTINGS[key] ?? `\${file:secrets/${name}}`,
  ])
  const note = preset.note === undefined ? [] : [preset.note, ""]
  const markdown = [
    `# ${preset.title}`,
    "",
    `\`provider = ${name}\` verifies webhooks of ${preset.title} by [its scheme](${preset.docs}).`,
    "",
    ...note,
    ...said("There", "Where to click"),
    "## What to paste",
    "",
    ...(family.requires.flat().some((it) => it === "secret" || it === "password")
      ? [
          `\`hookline init ${name}\` writes this file, and a secret made at random to \`secrets/${name}\`: give it to the sender, or replace it by the one that the sender shows.`,
        ]
      : [`\`hookline init ${name}\` writes this file, with the settings that \`--set\` gives:`]),
    "",
    "```ini",
    "[connection:log]",
    "directory = hookline-data",
    "",
    samplePipeline(name, lines).trimEnd(),
    "```",
    "",
    ...said("What arrives"),
    ...(await sample(name, family)),
    ...said("When Hookline is down"),
    ...said("What was missed"),
    ...said("Kept in record headers"),
    ...(await refusals(name, family)),
    ...said("Addresses"),
  ]
  return {
    route: `senders/${name}`,
    file: "docs/providers.md",
    description: `Webhooks of ${preset.title}: where to click, what to paste, a sample as it arrives, what happens while Hookline is down, and the fix for each refusal.`,
    markdown: markdown.join("\n"),
  }
}

const sentence = (text: string): string => {
  const capital = /^https?:/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)
  return /[.:]$/.test(capital) ? capital : `${capital}.`
}

/** The settings that a page shows: with a secret, where that is one of several ways. */
const keysFor = ({ requires }: Family): readonly SettingKey[] =>
  requires.find((it) => it.includes("secret") || it.includes("password")) ?? requires[0]!

interface Signed {
  readonly settings: VerifierSettings
  readonly request: SignedRequest
}

/** undefined: only the sender can sign */
async function signedSample(name: string, family: Family): Promise<Signed | undefined> {
  const keys = keysFor(family)
  if (
    family.signer === undefined ||
    keys.includes("audience") ||
    (family.family === "jwt" && keys.includes("public_key"))
  )
    return undefined
  const [signing, verifying] = settingsOf(family, keys)
  const { headers, body } = sampleRequest(name, EVENT)
  const url = `https://hooks.example.com/${name}`
  const signer = makeSigner(name, signing)
  const signed = await signer.sign({ method: "POST", url, headers, body, id: EVENT.id }, EVENT.atMs)
  const { pathname, search } = new URL(signed.url)
  const request = { ...signed, headers: new Headers(signed.headers), path: pathname, query: search.slice(1) }
  const result = await makeVerifier(name, verifying).verify(request, EVENT.atMs)
  if (!(result instanceof Verified)) throw new Error(`the sample of ${name} is refused: ${result.detail}`)
  return { settings: verifying, request }
}

/** To sign by, and to verify by. */
function settingsOf(family: Family, keys: readonly SettingKey[]): [VerifierSettings, VerifierSettings] {
  if (keys.includes("public_key")) {
    const { privateKey } =
      family.family === "ed25519"
        ? generateKeyPairSync("ed25519")
        : family.family === "rsa"
          ? generateKeyPairSync("rsa", { modulusLength: 2048 })
          : generateKeyPairSync("ec", { namedCurve: "P-256" })
    const [secret, publicKey] = [
      privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
      createPublicKey(privateKey).export({ format: "pem", type: "spki" }).toString(),
    ]
    return [{ secret: [secret] }, { public_key: [publicKey] }]
  }
  const all: VerifierSettings = {
    secret: [SECRETS[family.secretForm ?? ""] ?? "obviously-fake-secret"],
    username: "hookline",
    password: ["obviously-fake-password"],
    header: "X-Signature",
    query: "token",
  }
  const settings = Object.fromEntries(keys.map((key) => [key, all[key]])) as VerifierSettings
  return [settings, settings]
}

/** A request as it arrives. */
async function sample(name: string, family: Family): Promise<string[]> {
  const signed = await signedSample(name, family)
  const { headers, body } = signed?.request ?? sampleRequest(name, EVENT)
  const { path, query } = signed?.request ?? { path: `/${name}`, query: "" }
  const secret = signed?.settings.secret?.[0]
  const by =
    signed === undefined
      ? "Only the sender can sign it"
      : `Signed with ${secret === undefined ? "an example's credentials" : `the secret \`${secret}\``}`
  return [
    `${by}${hasSample(name) ? "" : "; the body stands for the sender's own"}:`,
    "",
    "```http",
    `POST ${path}${query === "" ? "" : `?${query}`} HTTP/1.1`,
    ...[...headers].map(([header, value]) => `${header}: ${value}`),
    "",
    Buffer.from(body).toString(),
    "```",
    "",
    ...(signed === undefined ? [] : [`\`hookline send\` posts such an event to your own pipeline.`, ""]),
  ]
}

/** What a pipeline logs of each mistake, which is made here, and what to do. */
async function refusals(name: string, family: Family): Promise<string[]> {
  const signed = await signedSample(name, family)
  const rows: string[] = []
  const row = (what: string, reason: RefusedReason, detail: string, remedy: string): void => {
    const logged = `[\`unverified_${reason}\`](errors.md#unverified_${reason}): ${REASON_WORDS[reason]}${detail === "" ? "" : ` (${detail})`}`
    rows.push(`| ${[what, logged, remedy].map((it) => it.replaceAll("|", "\\|")).join(" | ")} |`)
  }
  if (signed === undefined) {
    for (const reason of ["missing_header", "no_match", "wrong_claim", "keys_unavailable"] as const)
      row(sentence(REASON_WORDS[reason]).slice(0, -1), reason, "", advice[`unverified_${reason}`].text)
    return table(name, rows)
  }
  const { settings, request } = signed
  const offMs = (family.toleranceMs ?? 0) + HOUR_MS
  const changed = Buffer.concat([request.body, Buffer.from(" ")])
  const trials: [what: string, remedy: string, Trial][] = [
    ["It is not signed", mistakes.header_missing.remedy, { headers: new Headers(), query: "" }],
    [
      "It was signed with another secret",
      `${mistakes.secret_wrong.problem} ${mistakes.secret_wrong.remedy}`,
      { settings: another(settings, family) },
    ],
    ["Its body was changed on the way", mistakes.body_changed.remedy, { body: changed }],
    ["It was sent to another URL", mistakes.url_other.remedy, { url: "http://10.0.0.7:8080/other" }],
    ["It comes late", advice.unverified_stale.text, { nowMs: EVENT.atMs + offMs }],
    ["This machine's clock is behind", advice.unverified_future.text, { nowMs: EVENT.atMs - offMs }],
  ]
  for (const [what, remedy, trial] of trials) {
    const verifier = makeVerifier(name, trial.settings ?? settings)
    const result = await verifier.verify({ ...request, ...trial }, trial.nowMs ?? EVENT.atMs)
    if (result instanceof Refused) row(what, result.reason, result.detail, remedy)
  }
  return table(name, rows)
}

/** What is not as the sender has it. */
interface Trial extends Partial<SignedRequest> {
  readonly settings?: VerifierSettings
  readonly nowMs?: number
}

const table = (name: string, rows: readonly string[]): string[] => [
  "## The fix for each refusal",
  "",
  "A sender with a wrong signature gets 401, whatever the mistake is. The log and the metrics name it. `hookline verify --last` finds the mistake in the last refused request: [why was it refused?](dev.md#why-was-it-refused)",
  ...(isInBox(name) ? ["", "A request that you have as text can be [pasted into a box](why.md)."] : []),
  "",
  "| what happened | what the log says | what to do |",
  "|---|---|---|",
  ...rows,
  "",
]

/** Settings of the same form with another secret. */
function another(settings: VerifierSettings, family: Family): VerifierSettings {
  const other = (text: string): string => `${text.slice(0, -4)}AAAA`
  const { secret, password, public_key } = settings
  return {
    ...settings,
    ...(secret !== undefined && { secret: secret.map(other) }),
    ...(password !== undefined && { password: password.map(other) }),
    ...(public_key !== undefined && settingsOf(family, ["public_key"])[1]),
  }
}
