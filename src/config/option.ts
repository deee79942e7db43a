/**
 * An option, declared once: its declaration is its parser, its type, its line in docs/reference.md and what
 * `hookline check` says of a wrong value.
 */
export interface Option<T> {
  /** Reads the file's text. Throws WrongValue. */
  readonly parse: (text: string, context: ParseContext) => Exclude<T, undefined>
  /** Says what is wrong with a value given in code, in the words of `parse`; undefined when it is right. */
  readonly wrong: (value: Exclude<T, undefined>) => string | undefined
  readonly presence: "required" | "optional" | "default"
  /** The default as the file would spell it. */
  readonly defaultText: string | undefined
  /** What kind of value it is, in a few words, for the reference and for errors. */
  readonly form: string
  readonly doc: string
  /** Never printed. */
  readonly secret: boolean
  /** Whether the value is the path of a file whose content counts like an option. */
  readonly isInput: boolean
}

export interface ParseContext {
  /** Absolute path that relative paths in the value start from. */
  readonly baseDir: string
}

/** The value does not have the option's form. The message says what would be right, without repeating the key. */
export class WrongValue extends Error {
  /** The message for a value that must not be printed. Without it, it is told that the value is not of the form. */
  readonly unquoted: string | undefined

  constructor(message: string, unquoted?: string) {
    super(message)
    this.unquoted = unquoted
  }
}

// oxlint-disable-next-line no-explicit-any
type AnyOption = Option<any>
export type OptionSet = { readonly [key: string]: AnyOption }
/** The values of a set of options, by key. */
export type Values<O extends OptionSet> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never
}

interface Described {
  doc: string
  secret?: boolean
  isInput?: boolean
}
interface WithDefault extends Described {
  /** As the file would spell it. */
  default: string
}
interface Optional extends Described {
  optional: true
}
/** Required when there is neither a default nor `optional`. */
export type Declared = Described | WithDefault | Optional

export type Parsed<T, D extends Declared> = D extends Optional ? Option<T | undefined> : Option<T>

/** An option of a form of its own. `read` throws WrongValue; `wrong` checks a value given in code. */
export function custom<T, D extends Declared>(
  form: string,
  declared: D,
  read: (text: string, context: ParseContext) => T,
  wrong: (value: T) => string | undefined,
): Parsed<T, D> {
  const defaultText = "default" in declared ? declared.default : undefined
  const made = {
    parse: read,
    wrong,
    presence: "optional" in declared ? "optional" : defaultText === undefined ? "required" : "default",
    defaultText,
    form,
    doc: declared.doc,
    secret: declared.secret ?? false,
    isInput: declared.isInput ?? false,
  }
  return made as unknown as Parsed<T, D>
}

/** A value as messages quote it: on one line, and not longer than a line. */
export function quote(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 79)}…` : value)
  if (Array.isArray(value)) return "a list"
  return typeof value === "function" || (typeof value === "object" && value !== null)
    ? `a value of type ${typeof value}`
    : String(value)
}

/** What a form throws for a text that does not have it. */
export const notA = (form: string, text: string): WrongValue =>
  new WrongValue(`${quote(text)} is not ${form}`, `is not ${form}`)

/** What a form throws for a text that has it, beyond its bounds. */
export const outOf = (bounds: string, text: string): WrongValue =>
  new WrongValue(`${quote(text)} ${bounds}`, bounds)

/** Checks a value given in code by its type and a test, with the same words as a text of the file. */
export const guard =
  <T>(form: string, fits: (value: T) => boolean) =>
  (value: T): string | undefined =>
    fits(value) ? undefined : `${quote(value)} is not ${form}`
