import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { atOnce } from "../../src/clock/slices.ts"
import { components } from "../../src/components/registry.ts"
import { readConfigurationFile } from "../../src/config/file/configuration-file.ts"
import type { OptionSet } from "../../src/config/options/option.ts"
import { ADMIN } from "../../src/config/sections/admin.ts"
import { FORWARD } from "../../src/config/sections/forward.ts"
import { SERVICE } from "../../src/config/sections/service.ts"
import { TRACES } from "../../src/config/sections/traces.ts"
import { extensions, sectionKinds } from "../../src/extensions/registry.ts"
import { connectionKinds } from "../../src/brokers/registry.ts"
import type { ConnectionSpec } from "../../src/runtime/connection-spec.ts"
import { Pipeline } from "../../src/runtime/pipeline.ts"
import type { Draft } from "../../src/runtime/plan/draft.ts"
import { resolveDraft } from "../../src/runtime/plan/plan.ts"
import { PROVIDER } from "../../src/verify/presets/own-provider.ts"
import { inCode } from "./in-code.ts"
import { temporaryFolder } from "./hookline.ts"
import { optionChanges, type Lines, type OptionChanges } from "./option-changes.ts"

/*
 * The messages on options, as the file's readers and as those of code have them: each option is given without what it needs, with
 * wrong values, and next to each other option of its section. `bin/bun test/support/option-messages.ts` writes the corpus.
 */

export const CORPUS = join(import.meta.dir, "option-messages.txt")

const FOLDER = "/config"
const pair = (name: string) => ({ certificate: `${name}.pem`, key: `${name}.key`, keystore: `${name}.both` })
const CERTIFICATES = {
  ca: "ca.pem",
  otherCa: "other-ca.pem",
  server: pair("server"),
  elsewhere: pair("elsewhere"),
  client: pair("client"),
}

/** Values for the sections that `optionChanges` has not. */
const HMAC = { header: "X-Signature" }
const FORWARDED = { from: "main/a", url: "http://127.0.0.1:9/hook" }
const RECONCILED = { pipeline: "a", credentials: "obviously-fake" }
const MORE: OptionChanges = {
  provider: {
    scheme: ["hmac", "token", HMAC],
    header: ["X-Signature", "X-A"],
    query: ["a", "b"],
    member: ["a", "b", { scheme: "token" }],
    prefix: ["a=", "b=", HMAC],
    prefix_optional: ["false", "true", { ...HMAC, prefix: "a=" }],
    separator: [",", ";", HMAC],
    signature_item: ["v1", "v2", HMAC],
    timestamp_item: ["t", "v1", { ...HMAC, signature_item: "v1", payload: "{timestamp}.{body}" }],
    timestamp_header: ["X-Time", "X-T", { ...HMAC, payload: "{timestamp}.{body}" }],
    timestamp_member: ["at", "t", HMAC],
    timestamp_unit: ["s", "ms", { ...HMAC, timestamp_header: "X-Time", payload: "{timestamp}.{body}" }],
    tolerance: ["5m", "0", { ...HMAC, timestamp_header: "X-Time", payload: "{timestamp}.{body}" }],
    id_header: ["X-Id", "X-I", { ...HMAC, payload: "{id}.{body}" }],
    payload: ["{body}", "{id}.{timestamp}.{body}", HMAC],
    fixed_headers: ["X-Version=1", "X-Version=2", HMAC],
    format: ["json", "form", HMAC],
    unwrap: ["payload", "data", { ...HMAC, format: "form" }],
    json_fields: ["a", "b", { ...HMAC, format: "form" }],
    lists: ["wrap", "split", HMAC],
    event_id: ["json:/id", "header:X-Id", HMAC],
    sample: ["{}", "[]", HMAC],
    sample_file: ["none.json", "other.json", HMAC],
    sample_headers: ["X-A=1", "X-B=2", { ...HMAC, sample: "{}" }],
  },
  forward: {
    from: ["main/a", "nowhere/a"],
    url: ["http://127.0.0.1:9/hook", "http://169.254.169.254/", { from: "main/a" }],
    where: ["json:/a=b", "key", FORWARDED],
    concurrency: ["1", "2", FORWARDED],
    on_refusal: ["stop", "skip", FORWARDED],
    park_after: ["1m", "2m", FORWARDED],
    dead_letter_topic: ["letters", "a", FORWARDED],
    sign: ["as_received", "provider", FORWARDED],
    secret: ["obviously-fake", "whsec_obviously-fake", { ...FORWARDED, sign: "standard-webhooks" }],
    provider: ["stripe", "nobody", { ...FORWARDED, sign: "provider", secret: "obviously-fake" }],
    headers: ["X-A: b", "X-A", FORWARDED],
    tls_certificate: ["a.pem", "b.pem", FORWARDED],
    tls_key: ["a.key", "b.key", FORWARDED],
  },
  reconcile: {
    pipeline: ["a", "nowhere", { credentials: "obviously-fake" }],
    credentials: ["obviously-fake", "b", { pipeline: "a" }],
    endpoint: ["repos/a/b/hooks/1", "a", RECONCILED],
    api: ["https://api.example", "ftp://api.example", RECONCILED],
    window: ["3h", "30d", RECONCILED],
    inject: ["true", "false", RECONCILED],
    certificate_topic: ["certificates", "a b", RECONCILED],
  },
}

/** Of no option's form. */
const WRONG = ["", "?"]
const WRONG_IN_CODE = [5, "?", []]

const OPTIONS: { readonly [title: string]: OptionSet } = {
  ...Object.fromEntries([...components, ...connectionKinds].map(({ title, options }) => [title, options])),
  admin: ADMIN.options,
  service: SERVICE.options,
  traces: TRACES.options,
  provider: PROVIDER.options,
  forward: FORWARD.options,
  ...Object.fromEntries(
    extensions.flatMap(({ name, sections }) =>
      sections === undefined ? [] : [[name, sections.section.options]],
    ),
  ),
}

interface Given {
  readonly [key: string]: unknown
}

const PIPELINE: { readonly [title: string]: Lines } = {
  WebHookSource: { port: "8080", host: "127.0.0.1" },
  BrokerSink: { topic: "a", connection: "main" },
}

/** A section among those that it needs. */
function fileWith(title: string, lines: Given): string {
  const isComponent = components.some((it) => it.title === title)
  const kind = connectionKinds.find((it) => it.title === title)
  const name = isComponent
    ? `pipeline:a:${title}`
    : kind === undefined
      ? ["provider", "forward", "reconcile"].includes(title)
        ? `${title}:own`
        : title
      : "connection:own"
  const sections = new Map<string, Given>([
    ["connection:main", { bootstrap_servers: "127.0.0.1:1" }],
    ["connection:other", { directory: "other" }],
  ])
  for (const [title, lines] of Object.entries(PIPELINE)) sections.set(`pipeline:a:${title}`, lines)
  if (title === "reconcile" || title === "forward")
    sections.set("pipeline:a:Verifier", { provider: "github", secret: "obviously-fake-secret" })
  if (!sections.has("admin")) sections.set("admin", { listen: "off" })
  sections.set(name, { ...sections.get(name), ...lines })
  return [...sections]
    .map(([name, lines]) => {
      const own = Object.entries(lines).map(
        ([key, value]) => `${key} = ${String(value).replaceAll("\n", "\n ")}`,
      )
      return [`[${name}]`, ...own, ""].join("\n")
    })
    .join("\n")
}

/** The same in code; undefined: code has no such section. */
function codeWith(title: string, given: Given): Partial<Draft> | undefined {
  const kind = connectionKinds.find((it) => it.title === title)
  const of = (name: string): Given => (name === title ? { ...PIPELINE[name], ...given } : PIPELINE[name]!)
  const part = (name: string, options: Given) =>
    components.find((it) => it.title === name)!(inCode(options) as never) as never
  const isProcessor = components.some((it) => it.title === title && it.kind === "processor")
  const pipeline = new Pipeline("a", {
    source: part("WebHookSource", of("WebHookSource")),
    processors: isProcessor ? [part(title, given)] : [],
    sink: part("BrokerSink", of("BrokerSink")),
  })
  const connection = (kind: ConnectionSpec["kind"], options: Given): ConnectionSpec => ({
    kind,
    given: inCode(options),
  })
  const draft = {
    connections: new Map([
      ["main", connection("kafka", { bootstrap_servers: ["127.0.0.1:1"] })],
      ["other", connection("embedded", { directory: "other" })],
      ...(kind ? [["own", connection(kind.name as ConnectionSpec["kind"], given)] as const] : []),
    ]),
    pipelines: [pipeline],
    admin: title === "admin" ? inCode(given) : { listen: "off" },
  }
  if (kind !== undefined || title in PIPELINE || isProcessor || title === "admin") return draft
  return title === "service" || title === "traces" ? { ...draft, [title]: inCode(given) } : undefined
}

/** A file's text as code gives it. */
function valueInCode(option: OptionSet[string] | undefined, text: unknown): unknown {
  if (option === undefined || typeof text !== "string") return text
  try {
    const value: unknown = option.parse(text, { baseDir: FOLDER })
    return option.fromCode(value, { baseDir: FOLDER })
  } catch {
    return text
  }
}

const valuesInCode = (title: string, lines: Given): Given =>
  Object.fromEntries(
    Object.entries(lines).map(([key, text]) => [key, valueInCode(OPTIONS[title]![key], text)]),
  )

type Spelled = readonly [notation: "file" | "code", text: string]

function* messagesOf(draft: Partial<Draft>): Iterable<Spelled> {
  const { problems } = atOnce(resolveDraft({ registry: components, cwd: FOLDER, ...draft }))
  for (const { line, text } of [...problems.all, ...problems.allWarnings])
    yield [line === "code" ? "code" : "file", text.replace(/a\.conf(?::\d+)?/g, "a.conf")]
}

function* inFile(title: string, lines: Given): Iterable<Spelled> {
  const bytes = new TextEncoder().encode(fileWith(title, lines))
  const environment = { env: { EMPTY: "" }, baseDir: FOLDER, kinds: sectionKinds }
  yield* messagesOf({ configuration: atOnce(readConfigurationFile(bytes, "a.conf", environment)) })
}

function* inBoth(title: string, lines: Lines): Iterable<Spelled> {
  const given = Object.fromEntries(Object.entries(lines).filter(([, value]) => value !== undefined))
  yield* inFile(title, given)
  const draft = codeWith(title, valuesInCode(title, given))
  if (draft !== undefined) yield* messagesOf(draft)
}

/** Gives each option of a section in the ways that are wrong, or may be. */
function* ofOption(title: string, key: string, changes: OptionChanges[string]): Iterable<Spelled> {
  const [before, after, beside] = changes[key] ?? [undefined, undefined]
  const given = [before, after].filter((value) => value !== undefined)
  for (const value of given) yield* inBoth(title, { [key]: value })
  for (const value of [...given, ...WRONG]) yield* inBoth(title, { ...beside, [key]: value })
  for (const wrong of WRONG_IN_CODE) {
    const draft = codeWith(title, { ...valuesInCode(title, { ...beside }), [key]: wrong })
    if (draft !== undefined) yield* messagesOf(draft)
  }
  for (const [other, [, value, needed]] of Object.entries(changes)) {
    if (other === key || after === undefined || value === undefined) continue
    yield* inBoth(title, { ...beside, ...needed, [other]: value, [key]: after })
    yield* inBoth(title, { [other]: value, [key]: after })
  }
}

/** Each message once, with its notation, sorted. */
export function optionMessages(): readonly string[] {
  using folder = temporaryFolder()
  const found = new Set<string>()
  const changes: OptionChanges = { ...optionChanges(folder.path, CERTIFICATES, [8081, 8082]), ...MORE }
  for (const [title, options] of Object.entries(changes)) {
    const all = Object.keys(OPTIONS[title]!).map((key) => ofOption(title, key, options))
    for (const messages of [inBoth(title, {}), inBoth(title, { topik: "a" }), ...all])
      for (const [notation, text] of messages)
        found.add(`${notation}: ${text.replaceAll(folder.path, FOLDER)}`)
  }
  return [...found].toSorted()
}

if (import.meta.main) writeFileSync(CORPUS, `${optionMessages().join("\n")}\n`)
