import { enumerate } from "../file/nearest.ts"
import type { Option, OptionSet, Relations } from "./option.ts"
import type { Checking, Section } from "./section.ts"

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
export function checkRelations({ options }: Section, checking: Checking<OptionSet>): void {
  const { values, isGiven, wrong, warn } = checking
  const used = Object.entries(options).filter(([key, { relations }]) => {
    const unmet = Object.entries(relations.only ?? {}).find(([other, words]) => !holds(values[other], words))
    if (unmet === undefined) return true
    const [other, words] = unmet
    if (values[other] === undefined || !isGiven(key)) return false
    const report = relations.unused === "warning" ? warn : wrong
    if (words === "on") report(key, without(other, options[other]!))
    else report(key, `has no effect with ${other} = ${values[other]}; ${remedy(other, words)}`)
    return false
  })
  const isUsed = (key: string): boolean => isGiven(key) && used.some(([other]) => other === key)
  for (const [key, { relations }] of used) {
    const { only: conditions = {}, requiredThen = false, needs, excludes } = relations
    if (!isGiven(key)) {
      const other = Object.keys(conditions).at(-1)!
      if (requiredThen) wrong(key, `is required by ${other} = ${values[other]}`)
    } else if (needs !== undefined && !isGiven(needs)) {
      wrong(key, without(needs, options[needs]!))
    } else if (excludes !== undefined && isUsed(excludes)) {
      wrong(key, `conflicts with ${excludes}; remove one of them`)
    }
  }
}

const holds = (value: unknown, words: readonly string[] | "on"): boolean =>
  words === "on" ? value !== undefined && value !== "off" : words.includes(value as string)

const without = (other: string, { form }: Option<unknown>): string =>
  `has no effect without ${other}; add ${other} = <${form.replace("off, or ", "")}>, or remove this`

const remedy = (other: string, words: readonly string[]): string =>
  `remove it, or set ${other} = ${enumerate(words, "or")}`

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
