import type { OptionSet } from "./options.ts"

/** A kind of section of the configuration file: what stands in it. */
export interface Section<O extends OptionSet = OptionSet> {
  /** Name as the file spells it: `WebHookSource`, `admin`, `Kafka connection`. */
  readonly title: string
  /** Other names that files use for it. */
  readonly aliases: readonly string[]
  /** One sentence for the reference. */
  readonly summary: string
  readonly options: O
}
