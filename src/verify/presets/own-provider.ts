import { Problems } from "../../config/file/problems.ts"
import { defineSection, type OptionsInCode } from "../../config/declarations.ts"
import type { Values } from "../../config/options/option-types.ts"
import { resolveSection, type Found } from "../../config/options/resolve.ts"
import { toHeaderValue } from "../../headers.ts"
import type { Sample } from "../samples/sample.ts"
import type { HmacForm } from "../schemes/hmac-form.ts"
import type { TokenLocation } from "../schemes/token.ts"
import type { EventLocations } from "./event-locations.ts"
import { check, readSample, wrongName } from "./own-provider/check.ts"
import { OPTIONS, type Options } from "./own-provider/options.ts"
import type { BodyForm } from "./profiles.ts"
import type { OwnProvider } from "./providers.ts"

export const PROVIDER = defineSection({
  title: "provider",
  aliases: [],
  summary:
    "A provider of your own, which a Verifier names like a preset; see own-providers.md. A name has lower-case letters, digits and hyphens, and is not a preset's.",
  options: OPTIONS,
  check,
})

/**
 * A custom provider for `verifier({ provider })`.
 *
 * @param name lower-case letters, digits and hyphens; no built-in preset's
 * @throws HooklineError `config`
 */
export function defineProvider(name: string, options: OptionsInCode<Options>): OwnProvider {
  const problems = new Problems(undefined)
  const wrong = wrongName(name)
  const address = `provider:${name}`
  if (wrong !== undefined) problems.add({ line: "code", section: address }, wrong)
  const found = { address, section: undefined, inCode: options, baseDir: process.cwd() }
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

/** Valid options as data. */
function toProvider(name: string, values: Values<Options>): OwnProvider {
  const sample = readSample(values, "sample") ?? readSample(values, "sample_file")
  const headers = toPairs(values.sample_headers)
  return {
    name,
    title: values.title ?? name,
    docs: values.docs,
    note: values.note,
    scheme: values.scheme === "hmac" ? { hmac: toHmac(values) } : { token: toToken(values) },
    event: toLocations(values),
    ...toBody(values),
    ...(sample !== undefined && {
      sample: values.format === "form" ? { headers, form: sample as Fields } : { headers, body: sample },
    }),
  }
}

type Fields = NonNullable<Sample["form"]>

/** The Decoder's defaults. */
function toBody({ format, unwrap, json_fields, lists }: Values<Options>): { body?: BodyForm } {
  if ([format, unwrap, json_fields, lists].every((it) => it === undefined)) return {}
  return {
    body: {
      format: format ?? "auto",
      ...(unwrap !== undefined && { unwrap }),
      ...(json_fields !== undefined && { json_fields: json_fields.join("\n") }),
      ...(lists !== undefined && { lists }),
    },
  }
}

function toHmac(values: Values<Options>): HmacForm {
  const { signature_item: item, separator, secret_encoding: secret, payload, algorithm, encoding } = values
  const hasItems = item !== undefined || values.timestamp_item !== undefined
  const list = separator === "space" ? " " : (separator ?? (hasItems ? "," : undefined))
  const time = toTime(values)
  return {
    header: values.header,
    query: values.query,
    list,
    prefix: item === undefined ? values.prefix && toHeaderValue(values.prefix) : `${item}=`,
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
  if (item !== undefined) return { item: item === "*" ? "" : `${item}=`, unit }
  return member === undefined ? undefined : { member, unit }
}

function toToken({ header, query, member, prefix }: Values<Options>): TokenLocation {
  if (member !== undefined) return { member }
  return query === undefined ? { header: header![0]!, prefix } : { query }
}

function toLocations({
  event_id: id,
  event_type: type,
  event_time: time,
  event_source: source,
}: Values<Options>): EventLocations {
  const given = Object.entries({ id, type, time, source }).filter(([, location]) => location !== undefined)
  return Object.fromEntries(given)
}

const toPairs = (pairs: readonly string[] = []): { [name: string]: string } =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [, name = "", value = ""] = /^([^=\s]+)\s*=\s*(.*)$/.exec(pair) ?? []
      return [name, toHeaderValue(value)]
    }),
  )
