import { resolve } from "node:path"
import { suggest } from "../file/nearest.ts"
import { camelCase } from "./in-code.ts"
import { quote, WrongValue, type OptionSet, type Values } from "./option.ts"
import type { Location, Problems } from "../file/problems.ts"
import type { Section } from "./section.ts"
import type { FileSection, FileText } from "../file/configuration-file.ts"

/** Options given in code, in camel case; undefined counts as absent. */
export interface Given {
  readonly [key: string]: unknown
}

export interface Found {
  /** The section's name, for messages on options that are not in the file: `pipeline:webhooks:BrokerSink`. */
  readonly address: string
  readonly section: FileSection | undefined
  /** undefined: code does not name it. */
  readonly given: Given | undefined
  /** Defaults in place of the options' own, as a file would spell them. */
  readonly defaults?: { readonly [key: string]: string } | undefined
  /** Absolute base of the file's relative paths. */
  readonly baseDir: string
  /** Called with each file that an option names to be read. */
  readonly reads?: ((file: string) => void) | undefined
}

export interface Resolved<O extends OptionSet> {
  /** All of them, unless a problem was reported. */
  readonly values: Partial<Values<O>>
  /** Whether it was given, in code or the file, even if it is wrong. */
  readonly isGiven: (key: keyof O & string) => boolean
  /** Where the value was given, or could be. */
  readonly where: (key: keyof O & string) => Location
  /** A value as messages quote it; undefined: it must not be printed. */
  readonly show: (key: keyof O & string) => string | undefined
}

/**
 * Resolves a section's options: code before the file before the defaults. Unknown keys, wrong values and missing ones go
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
  const { address, section: configuration, baseDir } = found
  const names = Object.keys(section.options)
  const namesInCode = names.map(camelCase)
  const given = (key: string): unknown => found.given?.[camelCase(key)]
  const home: Location = {
    line: configuration?.line ?? (found.given && "code"),
    section: configuration?.name ?? address,
  }
  const where = (key: string): Location => {
    if (given(key) !== undefined) return { line: "code", section: address, key }
    const text = configuration?.texts.get(key)
    return text === undefined ? { ...home, key } : { line: text.line, section: home.section, key: text.key }
  }
  const wrong = (key: string, text: string): void => problems.add(where(key), text)
  const warn = (key: string, text: string): void => problems.warn(where(key), text)

  const unknown = (place: Location, key: string, known: readonly string[]): void =>
    problems.add(
      place,
      strange?.(key) ??
        `unknown ${place.line === "code" ? "option" : "key"}${suggest(key, known, (name) => `\`${name}\``)}`,
    )
  for (const key of configuration?.texts.keys() ?? []) {
    if (!names.includes(key)) unknown(where(key), key, names)
  }
  for (const [key, value] of Object.entries(found.given ?? {})) {
    if (value !== undefined && !namesInCode.includes(key))
      unknown({ line: "code", section: address, key }, key, namesInCode)
  }

  const values: { [key: string]: unknown } = {}
  for (const [key, option] of Object.entries(section.options)) {
    const text = configuration?.texts.get(key)
    const defaultText = found.defaults?.[key] ?? option.defaultText
    if (given(key) !== undefined) {
      const value = fromCode(option, given(key))
      if (value instanceof WrongValue) wrong(key, value.message)
      else values[key] = value
    } else if (text !== undefined) {
      const read = readText(option, text, baseDir)
      if (read instanceof WrongValue) wrong(key, read.message)
      else if (text.text !== undefined) values[key] = read
    } else if (defaultText !== undefined) {
      values[key] = option.parse(defaultText, { baseDir })
    } else if (option.presence === "required") {
      wrong(key, missing(section, key, found))
    }
  }

  for (const file of inputsOf(section, values)) found.reads?.(file)

  const resolved = values as Partial<Values<O>>
  const isGiven = (key: string): boolean => given(key) !== undefined || configuration?.texts.has(key) === true
  section.check?.({ values: resolved, isGiven, wrong, warn })
  const isQuotable = (key: string): boolean =>
    section.options[key]?.secret !== true &&
    (given(key) !== undefined || configuration?.texts.get(key)?.quotable !== false)
  return {
    values: resolved,
    isGiven,
    where,
    show: (key) => (isQuotable(key) ? quote(values[key]) : undefined),
  }
}

/** Absolute paths of the files that a section's options name to be read. */
export function inputsOf(section: Section, values: { readonly [key: string]: unknown }): string[] {
  const named = Object.entries(section.options).flatMap(([key, { isInput }]) => (isInput ? values[key] : []))
  return named.flatMap((file) => (typeof file === "string" ? resolve(file) : []))
}

/** Checks a value of code. A problem's message is free of what must not be printed. */
function fromCode(option: OptionSet[string], value: unknown): unknown {
  try {
    return option.fromCode(value)
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    return option.secret ? new WrongValue(`is not ${option.form}`) : error
  }
}

/** Reads a text of the file. A problem's message is free of what must not be printed; undefined: reported before. */
function readText(option: OptionSet[string], { text, quotable }: FileText, baseDir: string): unknown {
  if (text === undefined) return undefined
  if (text === "" && option.defaultText !== "") {
    const remedy = option.presence === "required" ? "" : ", or remove the key"
    return new WrongValue(`is empty; expected ${option.form}${remedy}`)
  }
  try {
    return option.parse(text, { baseDir })
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
