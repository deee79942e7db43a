import type { OptionSet, Values } from "./option.ts"

/** A kind of section of the configuration file: what stands in it. */
export interface Section<O extends OptionSet = OptionSet> {
  /** Name as the file spells it: `WebHookSource`, `admin`, `Kafka connection`. */
  readonly title: string
  /** Other names that files use for it. */
  readonly aliases: readonly string[]
  /** One sentence for the reference. */
  readonly summary: string
  readonly options: O
  /** Rules between the keys, beside the form of each. Called with whatever could be read, also when keys are wrong. */
  check?(checking: Checking<O>): void
}

/** A section whose keys were read one by one, for the rules between them. */
export interface Checking<O extends OptionSet> {
  /** What could be read; a key with a problem of its own is missing. */
  readonly values: Partial<Values<O>>
  /** Whether the key was given, in code or the file, even if its value is wrong. */
  readonly isGiven: (key: keyof O & string) => boolean
  /** Tells a problem of a key: what is wrong, what would be right. */
  readonly wrong: (key: keyof O & string, text: string) => void
  /** Tells of something about a key that is not wrong for sure: `hookline check` says it. */
  readonly warn: (key: keyof O & string, text: string) => void
}

/** Declares a section that is not a component's. */
export function defineSection<O extends OptionSet>(section: Section<O>): Section<O> {
  return section
}
