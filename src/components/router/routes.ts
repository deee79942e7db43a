// Hot path: `compileRoutes`.
import { custom, WrongValue } from "../../config/options/option-types.ts"
import type { Event } from "../../pipeline/event.ts"
import type { ValueOf } from "../extraction.ts"
import { compilePattern } from "../../json/pattern.ts"
import { TOPIC_NAME } from "../../pipeline/topic-name.ts"
import type { Unrouted } from "../../telemetry/pipeline-metrics.ts"

/** Events with a value that the pattern matches go to all of the topics; DROP, alone: they are dropped. */
export interface RouteLine {
  readonly pattern: string
  readonly topics: readonly [string, ...string[]]
}

/** The target that drops an event. No topic of this name can be routed to. */
export const DROP = "drop"

const FORM = `lines \`pattern = topic\`, \`pattern = topic, topic\` or \`pattern = ${DROP}\``

/** The option of a Router's lines; code gives pairs. */
export const routeLines = (declared: { doc: string; optional: true }) =>
  custom<readonly RouteLine[], typeof declared, readonly (readonly [pattern: string, topic: string])[]>(
    FORM,
    declared,
    (text) => {
      const lines = text.split("\n").flatMap((line) => line.trim() || [])
      return lines.map((line) => {
        // a topic has no =, a pattern may
        const at = line.lastIndexOf("=")
        if (at === -1) throw new WrongValue(`${JSON.stringify(line)} is not a line \`pattern = topic\``)
        return routeOf(line.slice(0, at).trim(), line.slice(at + 1).trim())
      })
    },
    (given) => {
      if (!Array.isArray(given) || given.length === 0)
        throw new WrongValue("is not an array of [pattern, topic]")
      return (given as unknown[]).map((pair) => {
        const [pattern, topic, more] = Array.isArray(pair) ? (pair as unknown[]) : []
        if (typeof pattern !== "string" || typeof topic !== "string" || more !== undefined)
          throw new WrongValue("has an item that is not [pattern, topic]")
        return routeOf(pattern, topic)
      })
    },
  )

function routeOf(pattern: string, target: string): RouteLine {
  if (pattern === "") throw new WrongValue(`has no pattern before "= ${target}"; * matches every value`)
  const [first = "", ...others] = target.split(",").map((name) => name.trim())
  const topics: RouteLine["topics"] = [first, ...others]
  if (!topics.every((topic) => TOPIC_NAME.pattern.test(topic)))
    throw new WrongValue(
      // without its text, which may be a secret that belongs to another section
      pattern.toLowerCase() === "include"
        ? "has a line include, which stands above the first section; move it to the top of the file"
        : `the target of ${JSON.stringify(pattern)} is not ${TOPIC_NAME.form}, or ${DROP}; several are separated by commas`,
    )
  if (new Set(topics).size < topics.length || (topics.length > 1 && topics.includes(DROP)))
    throw new WrongValue(
      `the target of ${JSON.stringify(pattern)} has a topic twice, or ${DROP} among topics`,
    )
  return { pattern, topics }
}

/** What a Router chose: a topic, and further ones, DROP, or why there is none. @internal */
export type Chosen =
  | { readonly topic: string; readonly others?: readonly string[] | undefined }
  | { readonly none: Unrouted }

/** @internal */
export const WITHOUT_VALUE: Chosen = { none: "no_value" }
const NO_RULE: Chosen = { none: "no_rule" }

/** The first line that matches decides. @internal */
export function compileRoutes(valueOf: ValueOf, routes: readonly RouteLine[]): (event: Event) => Chosen {
  const lines = routes.map(({ pattern, topics: [topic, ...others] }) => ({
    matches: compilePattern(pattern),
    chosen: { topic, others: others.length === 0 ? undefined : others },
  }))
  return (event) => {
    const value = valueOf(event)
    if (value === undefined) return WITHOUT_VALUE
    return lines.find(({ matches }) => matches(value))?.chosen ?? NO_RULE
  }
}
