import { resolve } from "node:path"
import { suggest } from "../../words.ts"
import type { OptionProblem, StartError } from "../../errors.ts"
import { blank, camelCase, message, type Message } from "../../message.ts"
import { checkRelations } from "./relations.ts"
import {
  defaultsOf,
  oncePerSet,
  optionsIn,
  quote,
  WrongValue,
  type OptionSet,
  type OptionValues,
  type ParseContext,
  type Values,
} from "./option.ts"
import type { Place, Problems } from "../file/problems.ts"
import type { Checking, Section } from "./section.ts"
import { fromCode, readText } from "./read-value.ts"
import { endsInComment } from "./slips.ts"
import { placeOf, type FileSection, type FileText } from "../file/configuration-file.ts"

/** Options given in code, in camel case; undefined counts as absent. */
export interface OptionsFromCode {
  readonly [key: string]: unknown
}

export interface Found {
  /** The section's name, for messages on options that are not in the file: `pipeline:webhooks:BrokerSink`. */
  readonly address: string
  readonly section: FileSection | undefined
  /** `[defaults:<Component>]`: keys for sections that lack them. */
  readonly fileDefaults?: FileSection | undefined
  /** undefined: code does not name it. */
  readonly inCode: OptionsFromCode | undefined
  /** Defaults in place of the options' own, as a file would spell them. */
  readonly defaults?: { readonly [key: string]: string } | undefined
  /** Absolute base of relative paths that no file gives. */
  readonly baseDir: string
  /** As in ParseContext. */
  readonly defined?: ReadonlyMap<string, object | undefined> | undefined
  /** Called with each file that an option names to be read. */
  readonly reads?: ((file: string) => void) | undefined
}

export interface Resolved<O extends OptionSet> extends Omit<Checking<O>, "warn"> {
  /** Whether no problem was reported. */
  readonly isSound: () => boolean
  /** Where the section is, or would be. */
  readonly home: Place
  /** Where the value was given, or could be. */
  readonly where: (key: keyof O & string) => Place
  /** A value as messages quote it; undefined: it must not be printed. */
  readonly show: (key: keyof O & string) => string | undefined
}

/** The values of a section: all of them, since no problem was reported. undefined: one was. */
export const soundValues = <O extends OptionSet>({
  isSound,
  values,
}: Pick<Resolved<O>, "isSound" | "values">): Values<O> | undefined =>
  isSound() ? (values as Values<O>) : undefined

/**
 * Resolves a section's options: code before the section before `[defaults:…]` before the defaults. Unknown keys, wrong
 * values and missing ones go to `problems`. An empty value (`key =`) is wrong unless the option's default is empty: it may
 * mean the default, nothing, or a lost value.
 *
 * @param strange the problem with a key that the section does not have, where the message can say more than that it is unknown
 */
export function resolveSection<O extends OptionSet>(
  section: Section<O>,
  found: Found,
  problems: Problems,
  strange?: (key: string) => Message | undefined,
): Resolved<O> {
  const reader = new SectionReader(section, found, problems)
  reader.reportUnknown(strange)
  reader.read()
  checkRelations(section.options, reader)
  section.check?.(reader)
  return reader
}

/** Reads one section. What `Resolved` has is bound, so that callers may destructure or spread it. */
class SectionReader<O extends OptionSet> implements Resolved<O>, Checking<O> {
  readonly home: Place
  /** One object for all sections without any given option. */
  values: Partial<Values<O>>
  readonly #section: Section<O>
  readonly #found: Found
  readonly #problems: Problems
  #isSound = true

  constructor(section: Section<O>, found: Found, problems: Problems) {
    this.#section = section
    this.#found = found
    this.#problems = problems
    this.values = defaultsOf(section.options, found.baseDir) as Partial<Values<O>>
    this.home = found.section
      ? placeOf(found.section)
      : { line: found.inCode && "code", section: found.address }
  }

  readonly isSound = (): boolean => this.#isSound

  readonly isGiven = (key: string): boolean =>
    this.#valueInCode(key) !== undefined || this.#textOf(key) !== undefined

  readonly isDefault = (key: string): boolean =>
    this.isGiven(key) && this.#valueInCode(key) === undefined && this.#found.section?.texts.has(key) !== true

  readonly wrong = (key: string, text: Message, problem: OptionProblem = "invalid_value"): void =>
    this.#report(this.where(key), text, problem)

  readonly warn = (key: string, text: Message): void => this.#problems.warn(this.where(key), text)

  readonly substituted = (key: string): readonly string[] =>
    this.#valueInCode(key) === undefined ? (this.#textOf(key)?.value.values ?? []) : []

  readonly where = (key: string): Place => {
    if (this.#valueInCode(key) !== undefined) return this.#placeInCode(key)
    const text = this.#textOf(key)
    return text === undefined ? { ...this.home, key } : placeOfText(text)
  }

  readonly show = (key: string): string | undefined => {
    const isQuotable =
      this.#section.options[key]?.secret !== true &&
      (this.#valueInCode(key) !== undefined || this.#textOf(key)?.value.quotable !== false)
    return isQuotable ? quote(this.values[key]) : undefined
  }

  reportUnknown(strange?: (key: string) => Message | undefined): void {
    const { options } = this.#section
    const { section, inCode } = this.#found
    const report = (place: Place, ...[what, key, names]: Parameters<typeof unknown>): void =>
      this.#report(place, strange?.(key) ?? unknown(what, key, names), "unknown_key")
    for (const [key, text] of section?.texts ?? []) {
      if (Object.hasOwn(options, key)) continue
      // what it is meant to be may be a secret
      reportInterpolation(text, this.#report, true)
      report(placeOfText(text), "key", key, Object.keys(options))
    }
    if (inCode === undefined) return
    const namesInCode = Object.keys(options).map(camelCase)
    for (const [key, value] of Object.entries(inCode)) {
      if (value !== undefined && !namesInCode.includes(key))
        report(this.#placeInCode(key), "option", key, namesInCode)
    }
  }

  read(): void {
    const read: { [key: string]: unknown } = {}
    for (const [key, option] of optionsIn(this.#section.options)) {
      const isDefaultAlone = !this.isGiven(key) && this.#found.defaults?.[key] === undefined
      if (isDefaultAlone && option.presence !== "required") continue
      const value = this.#read(key, option)
      if (value instanceof WrongValue) this.wrong(key, value.text, value.problem)
      read[key] = value instanceof WrongValue ? undefined : value
    }
    if (Object.keys(read).length > 0) this.values = { ...this.values, ...read }
    for (const file of inputsOf(this.#section, this.values)) this.#found.reads?.(file)
  }

  /** The value of an option that has more than a default of its own; undefined: its text is reported already. */
  #read(key: string, option: OptionSet[string]): unknown {
    const { baseDir, defined, defaults } = this.#found
    const text = this.#textOf(key)
    if (text !== undefined) reportInterpolation(text, this.#report, option.secret)
    const inCode = this.#valueInCode(key)
    if (inCode !== undefined) return fromCode(option, inCode, { baseDir, defined })
    if (text !== undefined) {
      const value = readText(option, text, defined)
      if (!(value instanceof WrongValue) && !option.secret && endsInComment(text.value.text ?? ""))
        this.warn(key, "looks as if it ended in a comment; comments need a line of their own")
      return value
    }
    const defaultText = defaults?.[key]
    if (defaultText !== undefined) return option.parse(defaultText, { baseDir, defined })
    return new WrongValue(this.#missing(key, option), undefined, "missing_key")
  }

  #missing(key: string, { form }: OptionSet[string]): Message {
    const { section, inCode } = this.#found
    if (inCode !== undefined && section === undefined) return message`is missing; it is ${form}`
    const remedyInCode = inCode === undefined ? "" : `, or give option ${camelCase(key)} in code`
    return message`is missing; add ${blank(key, form)}${remedyInCode}`
  }

  #valueInCode(key: string): unknown {
    const { inCode } = this.#found
    return inCode === undefined ? undefined : inCode[camelCase(key)]
  }

  #textOf(key: string): FileText | undefined {
    const { section, fileDefaults } = this.#found
    const isOwn = Object.hasOwn(this.#section.options, key)
    return section?.texts.get(key) ?? (isOwn ? fileDefaults?.texts.get(key) : undefined)
  }

  #placeInCode(key: string): Place {
    return { line: "code", section: this.#found.address, key }
  }

  readonly #report = (place: Place, text: Message, error?: StartError): void => {
    this.#isSound = false
    this.#problems.add(place, text, error)
  }
}

const unknown = (what: "key" | "option", key: string, names: readonly string[]): string =>
  key === "include"
    ? "stands above the first section, and reads other files there; move the line to the top of the file"
    : `unknown ${what}${suggest(key, names, (name) => `\`${name}\``)}`

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
    reportInterpolation(text, problems.add.bind(problems), option?.secret !== false)
    const read = option && readText(option, text, defined)
    if (option === undefined) problems.add(placeOfText(text), unknown("key", key, names), "unknown_key")
    else if (read instanceof WrongValue) problems.add(placeOfText(text), read.text)
  }
}

const placeOfText = ({ file, line, section, key }: FileText): Place => ({ file, line, section, key })

function reportInterpolation(text: FileText, report: Problems["add"], isSecret: boolean): void {
  for (const it of text.value.problems)
    report({ ...placeOfText(text), line: it.line }, (isSecret ? it.ofSecret : undefined) ?? it.text, it.error)
}

/** Absolute paths of the files that a section's options name to be read. */
export function inputsOf(section: Pick<Section, "options">, values: OptionValues): string[] {
  const files: string[] = []
  for (const key of inputKeysIn(section.options)) {
    const file = values[key]
    if (typeof file === "string") files.push(resolve(file))
  }
  return files
}

const inputKeysIn = oncePerSet((options): readonly string[] =>
  optionsIn(options).flatMap(([key, { isInput }]) => (isInput ? key : [])),
)
