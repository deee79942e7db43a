// Hot path: `compileRoutes`.
import { custom, WrongValue } from "../../config/options/option-types.ts"
import type { Event } from "../../pipeline/event.ts"
import type { ValueOf } from "../extraction.ts"
import { compilePattern } from "../../json/pattern.ts"
import { TOPIC_NAME } from "../../pipeline/topic-name.ts"
import type { Unrouted } from "../../telemetry/pipeline-metrics.ts"

/** Events with a value that the pattern matches go to the topic; DROP: they are dropped. */
export interface RouteLine {
  readonly pattern: string
  readonly topic: string
}

/** The target that drops an event. No topic of this name can be routed to. */
export const DROP = "drop"

const FORM = `lines \`pattern = topic\`, or \`pattern = ${DROP}\``

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

function routeOf(pattern: string, topic: string): RouteLine {
  if (pattern === "") throw new WrongValue(`has no pattern before "= ${topic}"; * matches every value`)
  if (!TOPIC_NAME.pattern.test(topic))
    throw new WrongValue(
      // without its text, which may be a secret that belongs to another section
      `the target of ${JSON.stringify(pattern)} is not ${TOPIC_NAME.form}, or ${DROP}`,
    )
  return { pattern, topic }
}

/** What a Router chose: a topic, DROP, or why there is none. @internal */
export type Chosen = { readonly topic: string } | { readonly none: Unrouted }

/** @internal */
export const NO_VALUE: Chosen = { none: "no_value" }
const NO_RULE: Chosen = { none: "no_rule" }

/** The first line that matches decides. @internal */
export function compileRoutes(valueOf: ValueOf, routes: readonly RouteLine[]): (event: Event) => Chosen {
  const lines = routes.map(({ pattern, topic }) => ({ matches: compilePattern(pattern), chosen: { topic } }))
  return (event) => {
    const value = valueOf(event)
    if (value === undefined) return NO_VALUE
    return lines.find(({ matches }) => matches(value))?.chosen ?? NO_RULE
  }
}
