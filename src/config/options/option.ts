import type { OptionProblem } from "../../errors.ts"
import { message, messageInFile, type Message } from "../../message.ts"

/** An option. Its declaration is its parser, its type, its line in docs/reference.md and the message of `check`. */
export interface Option<T, C = T, P extends Presence = Presence> {
  /** Reads the file's text. Throws WrongValue. */
  readonly parse: (text: string, context: ParseContext) => Exclude<T, undefined>
  /** Checks a value given in code, and converts it where code may spell it otherwise. Throws WrongValue. */
  readonly fromCode: (value: C, context?: ParseContext) => Exclude<T, undefined>
  readonly presence: P
  /** The default as the file would spell it. */
  readonly defaultText: string | undefined
  /** The kind of value in a few words, for the reference and for errors. */
  readonly form: Message
  /** That of the values but `off`, where it may be off. */
  readonly formOn: Message
  readonly doc: string
  /** Never printed. */
  readonly secret: boolean
  /** Whether the value is the path of a file whose content is configuration, too. */
  readonly isInput: boolean
  readonly reload: Reload
  readonly relations: Relations
}

/** The relations of an option to others of its section. `relations.ts` checks them and describes them in the reference. */
export interface Relations {
  /** Values of other options with which this one has an effect, as the file spells them; `on`: any but `off`. */
  readonly only?: { readonly [key: string]: readonly string[] | "on" }
  /** Whether it must be given where `only` holds. */
  readonly requiredThen?: boolean
  /** The consequence of giving it where `only` does not hold: an error, or a warning. */
  readonly unused?: "error" | "warning"
  /** An option without which this one has no effect. */
  readonly needs?: string
  /** An option that can't be given next to this one. */
  readonly excludes?: string
}

/**
 * The effect of a reload on a changed value:
 * - `reopen`: the option's connection, pipeline or listener is reopened with it. The default: no value can be ignored.
 * - `live`: the open instance applies it
 * - `restart`: applied at the next start of the process; the reload logs that
 */
export type Reload = "reopen" | "live" | "restart"

export type Presence = "required" | "optional" | "default"

export interface ParseContext {
  /** Absolute base of relative paths. */
  readonly baseDir: string
  /** Definitions of other sections, by their names: `provider:acme`. undefined: the section has problems. */
  readonly defined?: ReadonlyMap<string, object | undefined> | undefined
  /** The positions of commas that files gave, which separate no secrets. */
  readonly fileCommas?: readonly number[] | undefined
}

/** The value does not have the option's form. The text does not repeat the key. */
export class WrongValue extends Error {
  readonly text: Message
  /** The text for a value that must not be printed; by default, that the value is not of the form. */
  readonly unquoted: Message | undefined
  readonly problem: OptionProblem

  constructor(text: Message, unquoted?: Message, problem: OptionProblem = "invalid_value") {
    super(messageInFile(text))
    this.text = text
    this.unquoted = unquoted
    this.problem = problem
  }
}

// oxlint-disable-next-line no-explicit-any
type AnyOption = Option<any, any>
export type OptionSet = { readonly [key: string]: AnyOption }

/** Finds what follows from a set of options once, since a file may have thousands of sections. */
export function oncePerSet<T extends object>(find: (options: OptionSet) => T): (options: OptionSet) => T {
  const found = new WeakMap<OptionSet, T>()
  return (options) => {
    let one = found.get(options)
    if (one === undefined) found.set(options, (one = find(options)))
    return one
  }
}

/** The options of a set with their keys. */
export const optionsIn = oncePerSet((options): readonly (readonly [key: string, option: AnyOption])[] =>
  Object.entries(options),
)

/** Values by key, of options that are not known to the types. */
export type OptionValues = { readonly [key: string]: unknown }

/** The options' own defaults: one object for all sections of a folder. */
export function defaultsOf(options: OptionSet, baseDir: string): OptionValues {
  const known = DEFAULTS.get(options)
  if (known?.baseDir === baseDir) return known.values
  const values: { [key: string]: unknown } = {}
  for (const [key, { defaultText, parse }] of optionsIn(options))
    if (defaultText !== undefined) values[key] = parse(defaultText, { baseDir })
  DEFAULTS.set(options, { baseDir, values })
  return values
}

const DEFAULTS = new WeakMap<OptionSet, { readonly baseDir: string; readonly values: OptionValues }>()

/** The values of a set of options, by key. */
export type Values<O extends OptionSet> = {
  // oxlint-disable-next-line no-explicit-any
  readonly [K in keyof O]: O[K] extends Option<infer T, any> ? T : never
}

interface Described extends Relations {
  doc: string
  formOn?: Message
  secret?: boolean
  isInput?: boolean
  reload?: Reload
}
/** Required when there is neither a default, as the file would spell it, nor `optional`. */
export type Declared = Described | (Described & { default: string }) | (Described & { optional: true })

/** The option that a declaration makes: of values T, which code gives as C. */
export type Parsed<T, D extends Declared, C = T> = D extends { optional: true }
  ? Option<T | undefined, C, "optional">
  : D extends { default: string }
    ? Option<T, C, "default">
    : Option<T, C, "required">

/**
 * An option with a custom form.
 *
 * @param read reads the file's text; throws WrongValue
 * @param fromCode checks a value given in code, and converts it to what `read` gives; throws WrongValue
 */
export function custom<T, D extends Declared, C = T>(
  form: Message,
  declared: D,
  read: (text: string, context: ParseContext) => T,
  fromCode: (value: C, context?: ParseContext) => T,
): Parsed<T, D, C> {
  const defaultText = "default" in declared ? declared.default : undefined
  const { only, requiredThen, unused, needs, excludes } = declared
  return {
    parse: read,
    fromCode,
    presence: "optional" in declared ? "optional" : defaultText === undefined ? "required" : "default",
    defaultText,
    form,
    formOn: declared.formOn ?? form,
    doc: declared.doc,
    secret: declared.secret ?? false,
    isInput: declared.isInput ?? false,
    reload: declared.reload ?? "reopen",
    relations: { only, requiredThen, unused, needs, excludes },
  } as unknown as Parsed<T, D, C>
}

/** A value as messages quote it: on one line, shortened, without the user, the password and the query of a URL. */
export function quote(value: unknown): string {
  if (typeof value === "string") {
    const text = value.replace(/:\/\/[^/]*@/, "://…@").replace(/(:\/\/[^?]*\?)[^]+/, "$1…")
    return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text)
  }
  if (Array.isArray(value)) return "a list"
  return typeof value === "function" || (typeof value === "object" && value !== null)
    ? `a value of type ${typeof value}`
    : String(value)
}

/** The error for a text of another form. */
export const notA = (form: Message, text: string): WrongValue =>
  new WrongValue(message`${quote(text)} is not ${form}`, message`is not ${form}`)

/** Checks a value given in code by a test of its type and bounds. */
export const guard =
  <T>(form: Message, fits: (value: T) => boolean) =>
  (value: T): T => {
    if (fits(value)) return value
    throw new WrongValue(message`${quote(value)} is not ${form}`)
  }

/** An option whose values pass the same test whether they come from the file or from code. */
export function uniform<T, D extends Declared>(
  form: Message,
  declared: D,
  read: (text: string, context: ParseContext) => T,
  fits: (value: T) => boolean,
): Parsed<T, D> {
  return custom<T, D>(
    form,
    declared,
    (text, context) => {
      const value = read(text, context)
      if (!fits(value)) throw notA(form, text)
      return value
    },
    guard(form, fits),
  )
}
