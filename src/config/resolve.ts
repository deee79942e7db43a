import { resolve } from "node:path"
import { enumerate, suggest } from "./nearest.ts"
import { quote, WrongValue, type Option, type OptionSet, type Values } from "./option.ts"
import type { Place, Problems } from "./problems.ts"
import type { Section } from "./section.ts"
import type { SeedSection, SeedText } from "./seed.ts"

/** Options as code gives them. undefined is as good as not there. */
export interface Given {
  readonly [key: string]: unknown
}

/** What is known of a section before its options are read. */
export interface Found {
  /** The section's name, for messages on options that the file does not hold: `pipeline:webhooks:BrokerSink`. */
  readonly address: string
  readonly seed: SeedSection | undefined
  /** undefined: code does not name it. */
  readonly given: Given | undefined
  /** Absolute path that relative paths of the file start from. */
  readonly baseDir: string
  /** Told of each file that an option names to be read. */
  readonly reads?: ((file: string) => void) | undefined
}

export interface Resolved<O extends OptionSet> {
  /** All of them unless a problem was told. */
  readonly values: Partial<Values<O>>
  /** Whether it was given, in code or the file, even if it is wrong. */
  readonly isGiven: (key: keyof O & string) => boolean
  /** Where a value was given; of a default, where it could be. */
  readonly where: (key: keyof O & string) => Place
  /** A value as messages quote it; undefined: it must not be printed. */
  readonly show: (key: keyof O & string) => string | undefined
}

/**
 * Makes values of a section's options: code's before the file's before the defaults. Unknown keys, wrong values and
 * missing ones go to `problems`. A key without a value (`key =`) is wrong unless the option's default is empty: whoever
 * writes it may mean the default, nothing at all, or have lost the value; leaving the key out says the first.
 *
 * @param strange says what is wrong with a key that the section does not know, where more is known of it
 */
export function resolveSection<O extends OptionSet>(
  section: Section<O>,
  found: Found,
  problems: Problems,
  strange?: (key: string) => string | undefined,
): Resolved<O> {
  const { address, seed, baseDir } = found
  const given = new Map(Object.entries(found.given ?? {}).filter(([, value]) => value !== undefined))
  const home: Place = { line: seed?.line ?? (found.given && "code"), section: seed?.name ?? address }
  const where = (key: string): Place => {
    if (given.has(key)) return { line: "code", section: address, key }
    const text = seed?.texts.get(key)
    return text === undefined ? { ...home, key } : { line: text.line, section: home.section, key: text.key }
  }
  const wrong = (key: string, text: string): void => problems.add(where(key), text)
  const warn = (key: string, text: string): void => problems.warn(where(key), text)

  const names = Object.keys(section.options)
  for (const key of new Set([...(seed?.texts.keys() ?? []), ...given.keys()])) {
    if (names.includes(key)) continue
    wrong(key, strange?.(key) ?? `is unknown${suggest(key, names, (name) => `\`${name}\``)}`)
  }

  const values: { [key: string]: unknown } = {}
  for (const [key, option] of Object.entries(section.options)) {
    const text = seed?.texts.get(key)
    if (given.has(key)) {
      const value = given.get(key)
      const problem = option.wrong(value)
      if (problem === undefined) values[key] = value
      else wrong(key, option.secret ? `is not ${option.form}` : problem)
    } else if (text !== undefined) {
      const read = readText(option, text, baseDir)
      if (read instanceof WrongValue) wrong(key, read.message)
      else if (text.text !== undefined) values[key] = read
    } else if (option.defaultText !== undefined) {
      values[key] = option.parse(option.defaultText, { baseDir })
    } else if (option.presence === "required") {
      wrong(key, missing(section, key, found))
    }
  }

  for (const file of inputsOf(section, values)) found.reads?.(file)

  const resolved = values as Partial<Values<O>>
  const isGiven = (key: string): boolean => given.has(key) || seed?.texts.has(key) === true
  section.check?.({ values: resolved, isGiven, wrong, warn })
  const isQuotable = (key: string): boolean =>
    section.options[key]?.secret !== true && (given.has(key) || seed?.texts.get(key)?.quotable !== false)
  return {
    values: resolved,
    isGiven,
    where,
    show: (key) => (isQuotable(key) ? quote(values[key]) : undefined),
  }
}

/** The files that a section's options name to be read, as absolute paths. */
export function inputsOf(section: Section, values: { readonly [key: string]: unknown }): string[] {
  const named = Object.entries(section.options).flatMap(([key, { isInput }]) => (isInput ? values[key] : []))
  return named.flatMap((file) => (typeof file === "string" ? resolve(file) : []))
}

/** Reads a text of the file. A problem's message is free of what must not be printed; undefined: told before. */
function readText(option: Option<unknown>, { text, quotable }: SeedText, baseDir: string): unknown {
  if (text === undefined) return undefined
  if (text === "" && option.defaultText !== "") {
    const way = option.presence === "required" ? "" : ", or leave the key out"
    return new WrongValue(`has no value; give it ${option.form}${way}`)
  }
  try {
    return option.parse(text, { baseDir })
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    const said =
      quotable && !option.secret ? error.message : `its value ${error.unquoted ?? `is not ${option.form}`}`
    return new WrongValue(text.includes("\n") ? `${said} (indented lines continue a value)` : said)
  }
}

function missing(section: Section, key: string, { seed, given }: Found): string {
  const form = section.options[key]!.form
  const ways = [
    given === undefined ? [] : [`give { ${key} } in code`],
    given === undefined || seed !== undefined ? [`add ${key} = <${form}>`] : [],
  ].flat()
  return `is missing; ${enumerate(ways, "or")}`
}
