import type { OptionProblem } from "../../errors.ts"
import type { Message } from "../../message.ts"
import type { OptionSet, Values } from "./option.ts"

/** A kind of section of the configuration file. */
export interface Section<O extends OptionSet = OptionSet> {
  /** Name as the file spells it: `WebHookSource`, `admin`, `Kafka connection`. */
  readonly title: string
  readonly aliases: readonly string[]
  /** One sentence for the reference. */
  readonly summary: string
  readonly options: O
  /** Rules across keys. Runs on the values that could be read, even if others are wrong. */
  check?(checking: Checking<O>): void
}

export interface Checking<O extends OptionSet> {
  /** All of them, unless a problem was reported. */
  readonly values: Partial<Values<O>>
  /** Whether the key was given, in code or the file, even if its value is wrong. */
  readonly isGiven: (key: keyof O & string) => boolean
  /** Whether its value comes from `[defaults:…]`, which serves other sections too. */
  readonly isDefault: (key: keyof O & string) => boolean
  /** The values that the environment and files have put into its text. */
  readonly substituted: (key: keyof O & string) => readonly string[]
  /** Reports a problem of a key, with its remedy; by default `invalid_value`. */
  readonly wrong: (key: keyof O & string, text: Message, problem?: OptionProblem) => void
  /** Reports a warning about a key, shown by `hookline check`. */
  readonly warn: (key: keyof O & string, text: Message) => void
}

/** Declares a section that is not a component's. */
export function defineSection<O extends OptionSet>(section: Section<O>): Section<O> {
  return section
}
