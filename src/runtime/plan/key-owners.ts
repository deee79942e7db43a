import { CONNECTION_OPTIONS } from "../../brokers/resolve-connection.ts"
import type { Component } from "../../components/define-component.ts"
import { enumerate, nearest } from "../../words.ts"
import type { OptionSet } from "../../config/options/option-types.ts"
import { ADMIN, SERVICE, TRACES } from "../../config/sections.ts"
import { FORWARD } from "../../config/sections/forward.ts"
import { extensions } from "../../extensions/registry.ts"

/** Sections that have no components, by their names. */
const OTHERS: readonly (readonly [section: string, options: OptionSet])[] = [
  ["[connection:<id>]", CONNECTION_OPTIONS],
  ["[admin]", ADMIN.options],
  ["[service]", SERVICE.options],
  ["[traces]", TRACES.options],
  ["[forward:<id>]", FORWARD.options],
  ...extensions.flatMap(({ name, sections }): [string, OptionSet][] =>
    sections === undefined ? [] : [[`[${name}:<id>]`, sections.section.options]],
  ),
]
/** A key that more sections have says little of where it belongs. */
const MOST_OWNERS = 2

/**
 * The problem with a key that a component's section does not have, and another section does; undefined: none has it, many
 * have, or it is misspelled.
 *
 * @param id of the pipeline
 */
export function keyOfOthers(
  key: string,
  id: string,
  component: Pick<Component, "options">,
  registry: readonly Component[],
): string | undefined {
  if (nearest(key, Object.keys(component.options)) !== undefined) return undefined
  const has = (options: OptionSet): boolean => Object.hasOwn(options, key)
  const inPipeline = registry.flatMap(({ title, options }) =>
    has(options) ? `[pipeline:${id}:${title}]` : [],
  )
  const elsewhere = OTHERS.flatMap(([section, options]) => (has(options) ? section : []))
  const owners = inPipeline.length > 0 ? inPipeline : elsewhere
  return owners.length === 0 || owners.length > MOST_OWNERS
    ? undefined
    : `unknown key here; move it to ${enumerate(owners, "or")}`
}
