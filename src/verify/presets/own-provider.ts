import { readFileSync } from "node:fs"
import { Problems } from "../../config/file/problems.ts"
import type { OptionsInCode } from "../../config/options/in-code.ts"
import { guard } from "../../config/options/option.ts"
import { custom, file, list, oneOf, text, type Values } from "../../config/options/option-types.ts"
import { resolveSection, type Found } from "../../config/options/resolve.ts"
import { defineSection, type Checking } from "../../config/options/section.ts"
import { WrongSetting } from "../schemes/family.ts"
import { parsePayload } from "../schemes/payload.ts"
import { SECRET_FORMS } from "../schemes/secrets.ts"
import type { HmacForm } from "../schemes/hmac.ts"
import type { SchemeForm } from "../schemes/scheme-form.ts"
import type { Sample } from "../samples/sample.ts"
import { GENERIC } from "../schemes/generic.ts"
import type { TokenLocation } from "../schemes/token.ts"
import { SETTINGS } from "../settings.ts"
import type { EventLocations } from "./event-locations.ts"
import { PRESETS, type Preset } from "./presets.ts"

/** A provider of one's own, `[provider:<name>]`: data of the form that presets have. */
export interface OwnProvider extends Omit<Preset, "docs"> {
  readonly name: string
  readonly docs?: string | undefined
  readonly scheme: SchemeForm
  readonly sample?: Sample | undefined
}

/** RFC 9110, 5.6.2 */
const HEADER_NAME = { pattern: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, form: "a header's name" }
const ITEM_NAME = { pattern: /^[\w.-]{1,64}$/, form: "the name of an item: letters, digits, _, . and -" }
const FIXED_HEADER = {
  pattern: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*=\s*\S.*$/,
  form: "a header's name, =, and its value",
}
const LOCATION = {
  pattern: /^(?:header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|json:(?:\/(?:[^~/]|~[01])*)+)$/,
  form: "header:Name or json:/pointer (RFC 6901)",
}

const OPTIONS = {
  title: text({ optional: true, doc: "The provider's name as people write it; default: the section's." }),
  docs: text({
    pattern: /^https?:\/\/\S+$/,
    form: "an http or https URL",
    optional: true,
    doc: "The provider's documentation of its webhooks.",
  }),
  note: text({ optional: true, doc: "Pitfalls, in a sentence, shown by `hookline verify`." }),
  scheme: oneOf(["hmac", "token"], {
    default: "hmac",
    doc: "How requests are authenticated: an HMAC of the body (and more), or a token sent as it is.",
  }),
  header: list(text({ ...HEADER_NAME, doc: "" }), {
    optional: true,
    doc: "The header of the signature or token. Of several, any may have a valid signature; a token is in one.",
  }),
  query: text({ optional: true, doc: "For `token`: the query parameter of the token, instead of a header." }),
  prefix: custom<string, { optional: true; doc: string }>(
    SETTINGS.prefix.form,
    {
      optional: true,
      doc: 'The prefix of the signature or token, such as `sha256=`, or `"Bearer "` in double quotes, which keep the space.',
    },
    (value, context) => SETTINGS.prefix.parse(value, context),
    guard("a text", (given) => typeof given === "string"),
  ),
  prefix_optional: oneOf(["false", "true"], {
    optional: true,
    doc: "Whether signatures may lack the prefix; default: false.",
  }),
  separator: oneOf([",", ";", "space"], {
    optional: true,
    doc: "What separates several items in the header; those that start with the prefix, or with `signature_item`, are signatures. Default: `,` with `signature_item`, else the header has one signature.",
  }),
  signature_item: text({
    ...ITEM_NAME,
    optional: true,
    doc: "The name of the signatures among the header's items: `s` for `t=…,s=…`.",
  }),
  timestamp_item: text({
    ...ITEM_NAME,
    optional: true,
    doc: "The name of the signed time among the header's items: `t` for `t=…,s=…`.",
  }),
  timestamp_header: text({ ...HEADER_NAME, optional: true, doc: "The header of the signed time." }),
  timestamp_member: text({
    optional: true,
    doc: "The top-level member of the JSON body that has the time.",
  }),
  timestamp_unit: oneOf(["s", "ms", "iso", "any"], {
    optional: true,
    doc: "Seconds or milliseconds since 1970, or RFC 3339; default: any of them.",
  }),
  tolerance: custom<number, { optional: true; doc: string }, number>(
    SETTINGS.tolerance.form,
    {
      optional: true,
      doc: "How far the signed time may be off, either way; 0: unchecked. Default: 5m. A Verifier's own wins.",
    },
    (value, context) => SETTINGS.tolerance.parse(value, context),
    (given) => SETTINGS.tolerance.fromCode(given),
  ),
  id_header: text({ ...HEADER_NAME, optional: true, doc: "The header of the signed id." }),
  payload: text({
    optional: true,
    doc: "The signed text, with the placeholders `{timestamp}`, `{id}`, `{method}`, `{url}` and `{body}`; default: `{body}`.",
  }),
  algorithm: SETTINGS.algorithm,
  encoding: SETTINGS.encoding,
  fixed_headers: list(text({ ...FIXED_HEADER, doc: "" }), {
    optional: true,
    doc: "Headers that must have these values, each as `Name=value`: a supported version.",
  }),
  secret_encoding: oneOf(["text", "hex", "base64", "whsec"], {
    optional: true,
    doc: `How the provider spells secrets; \`whsec\`: ${SECRET_FORMS.whsec}. Default: text.`,
  }),
  event_id: text({
    ...LOCATION,
    optional: true,
    doc: "Where events have their id, equal for redeliveries: `event:id`.",
  }),
  event_type: text({ ...LOCATION, optional: true, doc: "Where events have their type: `event:type`." }),
  event_time: text({
    ...LOCATION,
    optional: true,
    doc: "Where events have the time when they happened: `event:time`.",
  }),
  sample: text({
    optional: true,
    doc: "A sample event for `hookline send`, as JSON. In its texts `{id}`, `{number}`, `{iso}`, `{unix}`, `{ms}` are replaced, and `=number`, `=unix`, `=ms` as a whole text by a number.",
  }),
  sample_file: file({ optional: true, doc: "The file of the sample, instead of `sample`." }),
  sample_headers: list(text({ ...FIXED_HEADER, doc: "" }), {
    optional: true,
    doc: "Headers of the sample beside those of the signature, each as `Name=value`, with the same placeholders.",
  }),
}

type Options = typeof OPTIONS
type Key = keyof Options

export const PROVIDER = defineSection({
  title: "provider",
  aliases: [],
  summary:
    "A provider of one's own, which a Verifier then names as it names a preset; see own-providers.md. Names are lower-case letters, digits and hyphens, and no preset's.",
  options: OPTIONS,
  check,
})

/**
 * A provider of one's own for `verifier({ provider })`.
 *
 * @param name lower-case letters, digits and hyphens; no built-in preset's
 * @throws HooklineError `config`
 */
export function defineProvider(name: string, options: OptionsInCode<Options>): OwnProvider {
  const problems = new Problems(undefined)
  const wrong = wrongName(name)
  const address = `provider:${name}`
  if (wrong !== undefined) problems.add({ line: "code", section: address }, wrong)
  const found = { address, section: undefined, given: options, baseDir: process.cwd() }
  const provider = resolveProvider(name, found, problems)
  problems.throwIfAny()
  return provider!
}

/** Reads a provider's options; undefined: a problem was reported. */
export function resolveProvider(name: string, found: Found, problems: Problems): OwnProvider | undefined {
  const before = problems.all.length
  const { values } = resolveSection(PROVIDER, found, problems)
  return problems.all.length > before ? undefined : toProvider(name, values as Values<Options>)
}

/** The problem with a provider's name; undefined: none. */
export function wrongName(name: string): string | undefined {
  if (Object.hasOwn(PRESETS, name) || Object.hasOwn(GENERIC, name))
    return `${name} is a built-in provider; choose another name, such as ${name}-own`
  return /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)
    ? undefined
    : "invalid name; write lower-case letters, digits and hyphens, as in [provider:acme-shop]"
}

const OF_TOKEN: readonly Key[] = ["header", "query", "prefix"]
const OF_HMAC: readonly Key[] = [
  "header",
  "prefix",
  "prefix_optional",
  "separator",
  "signature_item",
  "timestamp_item",
  "timestamp_header",
  "timestamp_member",
  "timestamp_unit",
  "tolerance",
  "id_header",
  "payload",
  "algorithm",
  "encoding",
  "fixed_headers",
  "secret_encoding",
]

function check(checking: Checking<Options>): void {
  const { values, isGiven, wrong } = checking
  const { scheme = "hmac" } = values
  const [used, others] = scheme === "hmac" ? [OF_HMAC, OF_TOKEN] : [OF_TOKEN, OF_HMAC]
  for (const key of others)
    if (!used.includes(key) && isGiven(key))
      wrong(
        key,
        `is not used by scheme = ${scheme}; remove it, or set scheme = ${scheme === "hmac" ? "token" : "hmac"}`,
      )
  if (scheme === "token") checkToken(checking)
  else checkHmac(checking)
  checkSample(checking)
}

function checkToken({ values: { header }, isGiven, wrong }: Checking<Options>): void {
  if (!isGiven("header") && !isGiven("query"))
    wrong("header", "is missing; add header = <a header's name>, or query")
  if (isGiven("header") && isGiven("query")) wrong("query", "conflicts with header; remove one of them")
  if (isGiven("query") && isGiven("prefix")) wrong("prefix", "is of a header; remove it, or name the header")
  if (header !== undefined && header.length > 1)
    wrong("header", "has several names; a token is in one header")
}

function checkHmac({ values, isGiven, wrong }: Checking<Options>): void {
  if (!isGiven("header")) wrong("header", "is missing; add header = <the header of the signature>")
  const [time, ...more] = TIMES.filter(isGiven)
  for (const key of more) wrong(key, `conflicts with ${time}; the signed time is in one place`)
  for (const key of ["timestamp_unit", "tolerance"] as const)
    if (time === undefined && isGiven(key))
      wrong(
        key,
        "has no effect without a signed time; add timestamp_header, timestamp_item or timestamp_member",
      )
  if (isGiven("signature_item") && isGiven("prefix"))
    wrong("prefix", "conflicts with signature_item, which is the prefix of the header's signatures")
  if (isGiven("timestamp_item") && !isGiven("signature_item") && !isGiven("separator"))
    wrong(
      "timestamp_item",
      "needs signature_item, or separator and prefix: the signature is another item of the header",
    )
  if (isGiven("prefix_optional") && !isGiven("prefix"))
    wrong("prefix_optional", "has no effect without prefix")
  if (isGiven("payload") && values.payload === undefined) return
  const { payload = "{body}" } = values
  try {
    parsePayload(payload)
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    return wrong("payload", error.message.slice("payload: ".length))
  }
  const hasTime = isGiven("timestamp_header") || isGiven("timestamp_item")
  if (payload.includes("{timestamp}") !== hasTime)
    wrong(
      hasTime ? time! : "payload",
      "{timestamp} in payload and timestamp_header, or timestamp_item, belong together: an unsigned time proves nothing",
    )
  if (payload.includes("{id}") !== isGiven("id_header"))
    wrong("id_header", "and {id} in payload belong together: an unsigned id proves nothing")
}

const TIMES = ["timestamp_header", "timestamp_item", "timestamp_member"] as const

function checkSample({ values, isGiven, wrong }: Checking<Options>): void {
  if (isGiven("sample") && isGiven("sample_file"))
    return wrong("sample_file", "conflicts with sample; remove one of them")
  for (const key of ["sample", "sample_file"] as const) {
    const read = readSample(values, key)
    if (read instanceof Error) wrong(key, `is no JSON: ${read.message}`)
  }
}

/** The sample's JSON; undefined: none is given. */
function readSample(values: Partial<Values<Options>>, key: "sample" | "sample_file"): unknown {
  const given = values[key]
  if (given === undefined) return undefined
  try {
    return JSON.parse(key === "sample" ? given : readFileSync(given, "utf8"))
  } catch (error) {
    return error
  }
}

/** Valid options as data. */
function toProvider(name: string, values: Values<Options>): OwnProvider {
  const body = readSample(values, "sample") ?? readSample(values, "sample_file")
  return {
    name,
    title: values.title ?? name,
    docs: values.docs,
    note: values.note,
    scheme: values.scheme === "hmac" ? { hmac: toHmac(values) } : { token: toToken(values) },
    event: toLocations(values),
    sample: body === undefined ? undefined : { headers: toPairs(values.sample_headers), body },
  }
}

function toHmac(values: Values<Options>): HmacForm {
  const { signature_item: item, separator, secret_encoding: secret, payload, algorithm, encoding } = values
  const list = separator === "space" ? " " : (separator ?? (item === undefined ? undefined : ","))
  const time = toTime(values)
  return {
    header: values.header!,
    list,
    prefix: item === undefined ? values.prefix : `${item}=`,
    prefixOptional: values.prefix_optional === "true",
    payload,
    time,
    toleranceMs: time === undefined ? undefined : (values.tolerance ?? DEFAULT_TOLERANCE_MS),
    id: values.id_header,
    fixed: toPairs(values.fixed_headers),
    algorithm,
    encoding,
    secret,
  }
}

const DEFAULT_TOLERANCE_MS = 300_000

function toTime(values: Values<Options>): HmacForm["time"] {
  const { timestamp_header: header, timestamp_item: item, timestamp_member: member } = values
  const { timestamp_unit: unit = "any" } = values
  if (header !== undefined) return { header, unit }
  if (item !== undefined) return { item: `${item}=`, unit }
  return member === undefined ? undefined : { member, unit }
}

const toToken = ({ header, query, prefix }: Values<Options>): TokenLocation =>
  query === undefined ? { header: header![0]!, prefix } : { query }

function toLocations({ event_id: id, event_type: type, event_time: time }: Values<Options>): EventLocations {
  const given = Object.entries({ id, type, time }).filter(([, location]) => location !== undefined)
  return Object.fromEntries(given)
}

const toPairs = (pairs: readonly string[] = []): { [name: string]: string } =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [, name = "", value = ""] = /^([^=\s]+)\s*=\s*(.*)$/.exec(pair) ?? []
      return [name, value]
    }),
  )
