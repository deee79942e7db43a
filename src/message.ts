/*
 * A message on options names them as its reader writes them: `tls_key` and `mode = enforce` where the file has them, `tlsKey` and
 * `mode: "enforce"` where code gives them. It is made once, with the names as values, and spelled where its place is known.
 */

/** The way in which options are written. */
export interface Notation {
  readonly option: (key: string) => string
  readonly setting: (key: string, value: Value) => string
  /** Picks one of two texts. */
  readonly either: (inFile: string, inCode: string) => string
}

/** A word, a number, words of which each is right, or a description in angle brackets. */
type Value = string | number | readonly string[]

/** A sentence, or a part of one: a function where it depends on the notation. */
export type Message = string | ((notation: Notation) => string)

export const IN_FILE: Notation = {
  option: (key) => key,
  setting: (key, value) => `${key} = ${typeof value === "object" ? anyOf(value) : value}`,
  either: (inFile) => inFile,
}

const IN_CODE: Notation = {
  option: camelCase,
  setting: (key, value) => `${camelCase(key)}: ${valueInCode(value)}`,
  either: (_, inCode) => inCode,
}

function valueInCode(value: Value): string {
  if (typeof value === "object") return anyOf(value.map((word) => JSON.stringify(word)))
  return typeof value === "number" || value.startsWith("<") ? String(value) : JSON.stringify(value)
}

const anyOf = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

/** `max_body_bytes` as code writes it: `maxBodyBytes`. */
export function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Spells a message in a notation. */
export const spelled = (part: Message | number, notation: Notation): string =>
  typeof part === "function" ? part(notation) : String(part)

export const messageInFile = (text: Message): string => spelled(text, IN_FILE)
export const messageInCode = (text: Message): string => spelled(text, IN_CODE)

/** A message of texts and parts: `` message`conflicts with ${named(other)}; remove one of them` ``. */
export const message =
  (texts: TemplateStringsArray, ...parts: readonly (Message | number)[]): Message =>
  (notation) =>
    texts.reduce((before, text, at) => before + spelled(parts[at - 1]!, notation) + text)

/** An option's name. */
export const named =
  (key: string): Message =>
  ({ option }) =>
    option(key)

/** The names of several options, joined to a text: `a, b and c`. */
export const namedBy =
  (join: (names: readonly string[]) => string, keys: readonly string[]): Message =>
  ({ option }) =>
    join(keys.map(option))

/** An option with a value: `mode = enforce`. */
export const setting =
  (key: string, value: Value): Message =>
  (notation) =>
    notation.setting(key, value)

/** An option with a description of its value: `tls_key = <a path>`. */
export const blank =
  (key: string, form: Message): Message =>
  (notation) =>
    notation.setting(key, `<${spelled(form, notation)}>`)

/** An option of a section, or a setting: `[service] redis`. */
export const ofSection =
  (section: string, part: Message): Message =>
  (notation) => {
    const text = spelled(part, notation)
    return notation.either(`[${section}] ${text}`, `${section}.${text}`)
  }

/** A part that only the file's readers need. */
export const ofFile =
  (text: string): Message =>
  ({ either }) =>
    either(text, "")
