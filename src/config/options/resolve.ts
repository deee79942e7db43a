import { resolve } from "node:path"
import { suggest } from "../file/nearest.ts"
import { camelCase } from "./in-code.ts"
import { quote, WrongValue, type OptionSet, type ParseContext, type Values } from "./option.ts"
import type { Location, Problems } from "../file/problems.ts"
import type { Section } from "./section.ts"
import { placeOf, type FileSection, type FileText } from "../file/configuration-file.ts"

/** Options given in code, in camel case; undefined counts as absent. */
export interface Given {
  readonly [key: string]: unknown
}

export interface Found {
  /** The section's name, for messages on options that are not in the file: `pipeline:webhooks:BrokerSink`. */
  readonly address: string
  readonly section: FileSection | undefined
  /** `[defaults:<Component>]`: keys for sections that lack them. */
  readonly fileDefaults?: FileSection | undefined
  /** undefined: code does not name it. */
  readonly given: Given | undefined
  /** Defaults in place of the options' own, as a file would spell them. */
  readonly defaults?: { readonly [key: string]: string } | undefined
  /** Absolute base of relative paths that no file gives. */
  readonly baseDir: string
  /** As in ParseContext. */
  readonly defined?: ReadonlyMap<string, object | undefined> | undefined
  /** Called with each file that an option names to be read. */
  readonly reads?: ((file: string) => void) | undefined
}

export interface Resolved<O extends OptionSet> {
  /** Whether no problem was reported. */
  readonly isSound: () => boolean
  /** Where the section is, or would be. */
  readonly home: Location
  /** All of them, unless a problem was reported. */
  readonly values: Partial<Values<O>>
  /** Whether it was given, in code or the file, even if it is wrong. */
  readonly isGiven: (key: keyof O & string) => boolean
  /** Whether its value is that of `[defaults:…]`. */
  readonly isDefault: (key: keyof O & string) => boolean
  /** Reports a problem of a key. */
  readonly wrong: (key: keyof O & string, text: string) => void
  /** Where the value was given, or could be. */
  readonly where: (key: keyof O & string) => Location
  /** A value as messages quote it; undefined: it must not be printed. */
  readonly show: (key: keyof O & string) => string | undefined
}

/**
 * Resolves a section's options: code before the section before `[defaults:…]` before the defaults. Unknown keys, wrong values and missing ones go
 * to `problems`. An empty value (`key =`) is wrong unless the option's default is empty: it may mean the default, nothing,
 * or a lost value.
 *
 * @param strange the problem with a key that the section does not have, where the message can say more than that it is unknown
 */
export function resolveSection<O extends OptionSet>(
  section: Section<O>,
  found: Found,
  problems: Problems,
  strange?: (key: string) => string | undefined,
): Resolved<O> {
  const { address, section: configuration, baseDir, defined } = found
  const context = { baseDir, defined }
  const names = Object.keys(section.options)
  const namesInCode = names.map(camelCase)
  const given = (key: string): unknown => found.given?.[camelCase(key)]
  const home: Location = configuration
    ? placeOf(configuration)
    : { line: found.given && "code", section: address }
  const textOf = (key: string): FileText | undefined =>
    configuration?.texts.get(key) ?? (names.includes(key) ? found.fileDefaults?.texts.get(key) : undefined)
  const where = (key: string): Location => {
    if (given(key) !== undefined) return { line: "code", section: address, key }
    const text = textOf(key)
    return text === undefined ? { ...home, key } : placeOfText(text)
  }
  let isSound = true
  const report = (place: Location, text: string): void => {
    isSound = false
    problems.add(place, text)
  }
  const wrong = (key: string, text: string): void => report(where(key), text)
  const warn = (key: string, text: string): void => problems.warn(where(key), text)

  const unknown = (place: Location, key: string, known: readonly string[]): void =>
    report(
      place,
      strange?.(key) ??
        `unknown ${place.line === "code" ? "option" : "key"}${suggest(key, known, (name) => `\`${name}\``)}`,
    )
  for (const [key, text] of configuration?.texts ?? []) {
    if (names.includes(key)) continue
    reportInterpolation(text, report)
    unknown(placeOfText(text), key, names)
  }
  for (const [key, value] of Object.entries(found.given ?? {})) {
    if (value !== undefined && !namesInCode.includes(key))
      unknown({ line: "code", section: address, key }, key, namesInCode)
  }

  const values: { [key: string]: unknown } = {}
  for (const [key, option] of Object.entries(section.options)) {
    const text = textOf(key)
    if (text !== undefined) reportInterpolation(text, report)
    const defaultText = found.defaults?.[key] ?? option.defaultText
    if (given(key) !== undefined) {
      const value = fromCode(option, given(key), context)
      if (value instanceof WrongValue) wrong(key, value.message)
      else values[key] = value
    } else if (text !== undefined) {
      const read = readText(option, text, defined)
      if (read instanceof WrongValue) wrong(key, read.message)
      else if (text.value.text !== undefined) values[key] = read
    } else if (defaultText !== undefined) {
      values[key] = option.parse(defaultText, context)
    } else if (option.presence === "required") {
      wrong(key, missing(section, key, found))
    }
  }

  for (const file of inputsOf(section, values)) found.reads?.(file)

  const resolved = values as Partial<Values<O>>
  const isGiven = (key: string): boolean => given(key) !== undefined || textOf(key) !== undefined
  const isDefault = (key: string): boolean =>
    given(key) === undefined && configuration?.texts.has(key) !== true && textOf(key) !== undefined
  section.check?.({ values: resolved, isGiven, isDefault, wrong, warn })
  const isQuotable = (key: string): boolean =>
    section.options[key]?.secret !== true &&
    (given(key) !== undefined || textOf(key)?.value.quotable !== false)
  return {
    isSound: () => isSound,
    home,
    values: resolved,
    isGiven,
    isDefault,
    wrong,
    where,
    show: (key) => (isQuotable(key) ? quote(values[key]) : undefined),
  }
}

/**
 * Checks a `[defaults:…]` section by itself: its keys, and their values.
 *
 * @param options of all that it serves
 */
export function checkDefaults(
  defaults: FileSection,
  options: OptionSet,
  problems: Problems,
  defined?: ParseContext["defined"],
): void {
  const names = Object.keys(options)
  for (const [key, text] of defaults.texts) {
    const option = names.includes(key) ? options[key] : undefined
    reportInterpolation(text, (place, problem) => problems.add(place, problem))
    const read = option && readText(option, text, defined)
    if (option === undefined)
      problems.add(placeOfText(text), `unknown key${suggest(key, names, (name) => `\`${name}\``)}`)
    else if (read instanceof WrongValue) problems.add(placeOfText(text), read.message)
  }
}

const placeOfText = ({ file, line, section, key }: FileText): Location => ({ file, line, section, key })

function reportInterpolation(text: FileText, report: (place: Location, text: string) => void): void {
  for (const it of text.value.problems) report({ ...placeOfText(text), line: it.line }, it.text)
}

/** Absolute paths of the files that a section's options name to be read. */
export function inputsOf(section: Section, values: { readonly [key: string]: unknown }): string[] {
  const named = Object.entries(section.options).flatMap(([key, { isInput }]) => (isInput ? values[key] : []))
  return named.flatMap((file) => (typeof file === "string" ? resolve(file) : []))
}

/** Checks a value of code. A problem's message is free of what must not be printed. */
function fromCode(option: OptionSet[string], value: unknown, context: ParseContext): unknown {
  try {
    return option.fromCode(value, context)
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    return option.secret ? new WrongValue(error.unquoted ?? `is not ${option.form}`) : error
  }
}

/** Reads a text of the file. A problem's message is free of what must not be printed; undefined: reported before. */
function readText(
  option: OptionSet[string],
  { value: { text, quotable }, baseDir }: FileText,
  defined: ParseContext["defined"],
): unknown {
  if (text === undefined) return undefined
  if (text === "" && option.defaultText !== "") {
    const remedy = option.presence === "required" ? "" : ", or remove the key"
    return new WrongValue(`is empty; expected ${option.form}${remedy}`)
  }
  try {
    return option.parse(text, { baseDir, defined })
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    const message =
      quotable && !option.secret ? error.message : `its value ${error.unquoted ?? `is not ${option.form}`}`
    return new WrongValue(text.includes("\n") ? `${message} (indented lines continue a value)` : message)
  }
}

function missing(section: Section, key: string, { section: configuration, given }: Found): string {
  const form = section.options[key]!.form
  if (given !== undefined && configuration === undefined) return `is missing; it is ${form}`
  const inCode = given === undefined ? "" : `, or give option ${camelCase(key)} in code`
  return `is missing; add ${key} = <${form}>${inCode}`
}
