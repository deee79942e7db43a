import { blank, message, named, setting, type Message } from "../../message.ts"
import { enumerate } from "../../words.ts"
import { oncePerSet, optionsIn, type OptionSet, type Relations } from "./option.ts"
import type { Checking } from "./section.ts"

/*
 * How options of a section depend on each other: declared with them, checked here, and rendered in docs/reference.md.
 */

/** Options that have an effect only with these values of other options of their section. */
export function only<O extends OptionSet>(
  values: NonNullable<Relations["only"]>,
  options: O,
  unused: Relations["unused"] = "error",
): O {
  const entries = Object.entries(options).map(([key, option]) => {
    const { relations } = option
    return [key, { ...option, relations: { ...relations, unused, only: { ...values, ...relations.only } } }]
  })
  return Object.fromEntries(entries) as O
}

/** Reports options that are given where they have no effect, missing where they are required, or in conflict. */
export function checkRelations(options: OptionSet, checking: Checking<OptionSet>): void {
  const { values, isGiven, wrong, warn } = checking
  const unmetOf = (key: string) => {
    const { only: conditions } = options[key]!.relations
    return conditions && Object.entries(conditions).find(([other, words]) => !holds(values[other], words))
  }
  for (const [key, relations] of relationsIn(options)) {
    const { only: conditions = {}, requiredThen, unused, needs, excludes } = relations
    if (requiredThen !== true && !isGiven(key)) continue
    const unmet = unmetOf(key)
    if (unmet !== undefined) {
      const [other, words] = unmet
      if (!isGiven(key) || values[other] === undefined) continue
      const text = words === "on" ? without(other, options) : withOther(other, values[other], words)
      if (unused === "warning") warn(key, text)
      else wrong(key, text, "conflicting_keys")
    } else if (!isGiven(key)) {
      const other = Object.keys(conditions).at(-1)!
      wrong(key, message`is required by ${setting(other, String(values[other]))}`, "missing_key")
    } else if (needs !== undefined && !isGiven(needs)) {
      wrong(key, without(needs, options), "conflicting_keys")
    } else if (excludes !== undefined && isGiven(excludes) && unmetOf(excludes) === undefined) {
      wrong(key, message`conflicts with ${named(excludes)}; remove one of them`, "conflicting_keys")
    }
  }
}

/** The relations of those options that have any. */
const relationsIn = oncePerSet((options): readonly (readonly [key: string, Relations])[] =>
  optionsIn(options).flatMap(([key, { relations }]) => {
    const { only: conditions, needs, excludes } = relations
    return conditions === undefined && needs === undefined && excludes === undefined ? [] : [[key, relations]]
  }),
)

const holds = (value: unknown, words: readonly string[] | "on"): boolean =>
  words === "on" ? value !== undefined && value !== "off" : words.includes(value as string)

const without = (other: string, options: OptionSet): Message =>
  message`has no effect without ${named(other)}; add ${blank(other, options[other]!.formOn)}, or remove this`

const withOther = (other: string, value: unknown, words: readonly string[]): Message =>
  message`has no effect with ${setting(other, String(value))}; remove it, or set ${setting(other, words)}`

/** An option's relations in sentences. Of nested groups the innermost is named, which says the most. */
export function describeRelations({ only: conditions, requiredThen, needs, excludes }: Relations): string[] {
  const [key, words] = Object.entries(conditions ?? {}).at(-1) ?? []
  const quoted = Array.isArray(words) ? words.map((word) => `\`${word}\``) : []
  const where = key === undefined ? undefined : [`\`${key}\``, enumerate(quoted, "or")].join(" ").trim()
  return [
    ...(where === undefined ? [] : [`${requiredThen ? "Required" : "Only"} with ${where}.`]),
    ...(needs === undefined ? [] : [`Needs \`${needs}\`.`]),
    ...(excludes === undefined ? [] : [`Not together with \`${excludes}\`.`]),
  ]
}
