// Hot path: `compileTemplate`.
import type { Event } from "../../pipeline/event.ts"
import type { KnownSender } from "../known-sender.ts"
import { asBuffer } from "../../json/tokens.ts"
import { EVENT_VALUE } from "../extraction.ts"
import { compilePatterns } from "../../json/pattern.ts"
import { isPartOfTopicName, TOPIC_NAME } from "../../pipeline/topic-name.ts"
import { WITHOUT_VALUE, type Chosen } from "./routes.ts"

/** For messages and the reference. */
export const TEMPLATE_FORM = `topic-name characters and values in braces, such as events.{json:/type}; a value is ${EVENT_VALUE.form}`

/** The values' texts in a template, without braces. */
export const valuesIn = (template: string): readonly string[] =>
  [...template.matchAll(/\{([^{}]*)\}/g)].map(([, value]) => value!)

const textsIn = (template: string): readonly string[] => template.split(/\{[^{}]*\}/)

/** Whether it is of the form: with a value at least. */
export function isTemplate(template: string): boolean {
  const values = valuesIn(template)
  return values.length > 0 && values.every(EVENT_VALUE.accepts) && textsIn(template).every(isPartOfTopicName)
}

/**
 * Parses a topic's name with values in braces, `events.{json:/type}`, into these and the texts before, between and after.
 *
 * @throws WrongValue as `EVENT_VALUE.parse`
 */
export const parseTemplate = (template: string, sender: KnownSender | undefined, sourcePath: string) => ({
  texts: textsIn(template),
  values: valuesIn(template).map((value) => EVENT_VALUE.parse(value, sender, sourcePath)!),
})

/** Kafka's own topics are called so. */
const KAFKAS_OWN = "__"
const LONGEST_NAME = 249

const INVALID: Chosen = { none: "invalid_topic" }
const NOT_ALLOWED: Chosen = { none: "topic_not_allowed" }

/** Whether a template may give a topic: one that a pattern allows, and none of Kafka's own. */
export function allowing(patterns: readonly string[]): (topic: string) => boolean {
  const matches = compilePatterns(patterns)
  return (topic) => !topic.startsWith(KAFKAS_OWN) && matches(Buffer.from(topic))
}

/** @param isAllowed asked for names that Kafka allows */
export function compileTemplate(
  { texts, values }: ReturnType<typeof parseTemplate>,
  isAllowed: (topic: string) => boolean,
): (event: Event) => Chosen {
  return (event) => {
    let topic = texts[0]!
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!(event)
      if (value === undefined) return WITHOUT_VALUE
      if (value.length > LONGEST_NAME) return INVALID
      topic += asBuffer(value).toString("latin1") + texts[i + 1]!
    }
    if (!TOPIC_NAME.pattern.test(topic)) return INVALID
    return isAllowed(topic) ? { topic } : NOT_ALLOWED
  }
}
