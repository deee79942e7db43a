import { blank, message, named, namedBy, setting } from "../../../message.ts"
import { readRegularFile } from "../../../process/regular-file.ts"
import type { Values } from "../../../config/options/option-types.ts"
import type { Checking } from "../../../config/declarations.ts"
import { enumerate } from "../../../words.ts"
import { whyUnreadable } from "../../../process/paths.ts"
import { WrongSetting } from "../../schemes/family.ts"
import { GENERIC } from "../../schemes/generic.ts"
import { parsePayload } from "../../schemes/signature-verifier.ts"
import { SCHEMES } from "../schemes.ts"
import type { Options } from "./options.ts"

/** The problem with a provider's name; undefined: none. */
export function wrongName(name: string): string | undefined {
  if (Object.hasOwn(SCHEMES, name) || Object.hasOwn(GENERIC, name))
    return `${name} is a built-in provider; choose another name, such as ${name}-own`
  return /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)
    ? undefined
    : "invalid name; write lower-case letters, digits and hyphens, as in [provider:acme-shop]"
}

/** Requires what the scheme needs. */
export function check(checking: Checking<Options>): void {
  if (checking.values.scheme === "token") checkToken(checking)
  else checkHmac(checking)
  checkSample(checking)
}

function checkToken({ values: { header }, isGiven, wrong }: Checking<Options>): void {
  if (!isGiven("header") && !isGiven("query") && !isGiven("member"))
    wrong(
      "header",
      message`is missing; add ${blank("header", "a header's name")}, query or member`,
      "missing_key",
    )
  if (isGiven("query") && isGiven("member"))
    wrong("member", "conflicts with query; remove one of them", "conflicting_keys")
  if (!isGiven("header") && isGiven("prefix"))
    wrong("prefix", "is of a header; remove it, or name the header")
  if (header !== undefined && header.length > 1)
    wrong("header", "has several names; a token is in one header")
}

function checkHmac({ values, isGiven, wrong }: Checking<Options>): void {
  if (!isGiven("header") && !isGiven("query"))
    wrong(
      "header",
      message`is missing; add ${blank("header", "the header of the signature")}, or query`,
      "missing_key",
    )
  const ofHeader = ITEMS.find(isGiven)
  if (isGiven("query") && ofHeader !== undefined)
    wrong(ofHeader, "is of a header's items; remove it, or name the header")
  const [time, ...more] = TIMES.filter(isGiven)
  for (const key of more)
    wrong(key, message`conflicts with ${named(time!)}; the signed time is in one place`, "conflicting_keys")
  for (const key of ["timestamp_unit", "tolerance"] as const)
    if (time === undefined && isGiven(key))
      wrong(
        key,
        message`has no effect without a signed time; add ${namedBy((keys) => enumerate(keys, "or"), TIMES)}`,
        "conflicting_keys",
      )
  if (
    isGiven("timestamp_item") &&
    values.timestamp_item !== "*" &&
    !isGiven("signature_item") &&
    !(isGiven("separator") && isGiven("prefix"))
  )
    wrong(
      "timestamp_item",
      message`needs ${named("signature_item")}, or separator and prefix: the signature is another item of the header`,
    )
  const { signature_item: item, timestamp_item: timeItem } = values
  const signature = item === undefined ? values.prefix : `${item}=`
  if (timeItem !== undefined && signature !== undefined && `${timeItem}=`.startsWith(signature))
    wrong("timestamp_item", "begins as signatures do, and would be read as one; correct one of them")
  if (isGiven("payload") && values.payload === undefined) return
  const { payload = "{body}" } = values
  try {
    parsePayload(payload)
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    return wrong("payload", error.text)
  }
  const hasTime = isGiven("timestamp_header") || isGiven("timestamp_item")
  if (payload.includes("{timestamp}") !== hasTime)
    wrong(
      hasTime ? time! : "payload",
      message`{timestamp} in payload and ${named("timestamp_header")}, or ${named("timestamp_item")}, belong together: an unsigned time proves nothing`,
    )
  if (payload.includes("{id}") !== isGiven("id_header"))
    wrong("id_header", "and {id} in payload belong together: an unsigned id proves nothing")
}

const ITEMS = ["separator", "signature_item", "timestamp_item"] as const
const TIMES = ["timestamp_header", "timestamp_item", "timestamp_member"] as const

function checkSample({ values, wrong }: Checking<Options>): void {
  for (const key of ["sample", "sample_file"] as const) {
    const read = readSample(values, key)
    if (read instanceof Error) wrong(key, read.message)
    else if (read !== undefined && (values.format === "multipart" || values.format === "text"))
      wrong(key, `is sent as JSON or as a form, and format is ${values.format}; remove it`)
    else if (read !== undefined && values.format === "form" && !isObject(read))
      wrong(key, message`is no JSON object; with ${setting("format", "form")} it has the form's fields`)
  }
}

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The sample's JSON; undefined: none is given. An error has what is wrong. */
export function readSample(values: Partial<Values<Options>>, key: "sample" | "sample_file"): unknown {
  const given = values[key]
  if (given === undefined) return undefined
  let json = given
  try {
    if (key === "sample_file") json = readRegularFile(given).toString()
  } catch (error) {
    return new Error(`the file ${given} ${whyUnreadable(error)}`)
  }
  try {
    return JSON.parse(json)
  } catch (error) {
    return new Error(`is no JSON: ${(error as Error).message}`)
  }
}
