// Hot path: every event of a pipeline with a Router passes here.
import { blank, message, setting } from "../message.ts"
import { type Checking, ROUTER_KEYS } from "../config/declarations.ts"
import { nearest } from "../words.ts"
import { WrongValue } from "../config/options/option-types.ts"
import type { Event, Processor } from "../pipeline/event.ts"
import { Dropped } from "../pipeline/outcome.ts"
import { locateEventPart } from "./known-sender.ts"
import { defineComponent } from "./define-component.ts"
import { EVENT_VALUE, checkExtractions, type EventFunction } from "./extraction.ts"
import { rarely } from "../clock/lasting.ts"
import type { Unrouted } from "../telemetry/pipeline-metrics.ts"
import { ROUTER_OPTIONS } from "./router/options.ts"
import { compileRoutes, DROP, type Chosen, type RouteLine } from "./router/routes.ts"
import { allowing, compileTemplate, parseTemplate, valuesIn } from "./router/template.ts"

/** Chooses the topic of each event by its content. */
export const router = defineComponent({
  kind: "processor",
  name: "Router",
  summary:
    "Chooses the topic of each event by a value of its content: by lines `pattern = topic`, or by a template of the name. Events for which it finds none go to the sink's topic.",
  options: ROUTER_OPTIONS,
  check,
  routing({ by, routes = [], topic, topics = [], unsigned }) {
    const isAllowed = allowing(topics)
    const targets = targetsOf(routes)
    return {
      key: topic === undefined ? "by" : "topic",
      places: (sender) => valuesOf(by, topic).flatMap((value) => locateEventPart(value, sender)),
      hasSeveral: routes.some((line) => line.topics.length > 1),
      allowsUnsigned: unsigned === "true",
      topics: topic === undefined ? targets : topics,
      mayChoose: (name) => {
        if (targets.includes(name)) return "routes"
        return topic !== undefined && isAllowed(name) ? "topics" : undefined
      },
      patterns: routes.map(({ pattern }) => pattern),
    }
  },
  checkInPipeline({ values: { by, topic }, sender, wrong }) {
    const key = topic === undefined ? "by" : "topic"
    const values = valuesOf(by, topic)
    checkExtractions(values, sender, (text) => wrong(key, text))
    const secret = sender?.covers?.credential?.query
    if (secret !== undefined && values.includes(`query:${secret}`))
      wrong(key, `${secret} is the secret that ${sender!.name} sends, which no topic may be named after`)
  },
  create({ by, routes = [], topic, topics = [], max_topics: mostTopics }, context) {
    const { log, metrics, prepareTopics, sender, sourcePath } = context
    const logUnrouted = (why: string) =>
      rarely(60_000, (events) =>
        log.warn({ events, reason: why }, "events without a route go to the sink's topic"),
      )
    const logTooMany = rarely(60_000, (events) =>
      log.error(
        { events, max_topics: mostTopics },
        "max_topics reached: events of further topics go to the sink's topic; raise it, or narrow `topics`",
      ),
    )
    const logged: { readonly [why in Unrouted]?: () => void } = {
      no_value: logUnrouted("no_value"),
      invalid_topic: logUnrouted("invalid_topic"),
      topic_not_allowed: logUnrouted("topic_not_allowed"),
      too_many_topics: logTooMany,
    }
    const route = (event: Event, chosen: Chosen) => {
      if ("topic" in chosen) {
        if (chosen.topic === DROP && topic === undefined) return ROUTED_TO_DROP
        event.topic = chosen.topic
        event.otherTopics = chosen.others
        return event
      }
      metrics.unrouted(chosen.none)
      logged[chosen.none]?.()
      return event
    }

    if (topic === undefined) {
      prepareTopics(targetsOf(routes))
      const choose = compileRoutes(EVENT_VALUE.parse(by!, sender, sourcePath)!, routes)
      for (const reason of ["no_value", "no_rule"] as const) metrics.unrouted(reason, 0)
      const process: Processor = (event) => route(event, choose(event))
      return Object.assign(process, { outcomes: [ROUTED_TO_DROP] })
    }

    const isAllowed = allowing(topics)
    const known = context.acquire({ name: "topics", open: () => new Set<string>() })
    for (const name of known) if (!isAllowed(name)) known.delete(name)
    prepareTopics([...known])
    // asked of known ones too: before the switch of a reload the Router before adds its own
    const choose = compileTemplate(parseTemplate(topic, sender, sourcePath), isAllowed)
    for (const reason of ["no_value", "invalid_topic", "topic_not_allowed", "too_many_topics"] as const)
      metrics.unrouted(reason, 0)
    const process: Processor = (event) => {
      const chosen = choose(event)
      if ("topic" in chosen && !known.has(chosen.topic)) {
        if (known.size >= mostTopics) return route(event, TOO_MANY_TOPICS)
        known.add(chosen.topic)
        prepareTopics([chosen.topic])
      }
      return route(event, chosen)
    }
    return process
  },
})

const TOO_MANY_TOPICS: Chosen = { none: "too_many_topics" }
const ROUTED_TO_DROP = new Dropped("routed_to_drop", "a line of the Router drops events with this value", {
  isRoutine: true,
})

/** The values that decide. */
const valuesOf = (by: string | EventFunction | undefined, topic: string | undefined): readonly string[] =>
  topic === undefined ? (typeof by === "string" ? [by] : []) : valuesIn(topic)

const targetsOf = (routes: readonly RouteLine[]): string[] => [
  ...new Set(routes.flatMap(({ topics }) => topics.filter((topic) => topic !== DROP))),
]

/** Requires either lines or a template, each with what belongs to it. */
function check({ values, isGiven, wrong }: Checking<typeof ROUTER_OPTIONS>): void {
  const [hasLines, hasTemplate] = [isGiven("by") || isGiven("routes"), isGiven("topic")]
  if (!hasLines && !hasTemplate)
    wrong(
      "by",
      message`is missing; add ${blank("by", "value")} and lines \`pattern = topic\`, or ${blank("topic", "template")} and topics`,
      "missing_key",
    )
  if (hasLines && hasTemplate)
    wrong(
      "topic",
      "conflicts with by and its lines; keep one of them, the sink's topic takes events that no line matches",
      "conflicting_keys",
    )
  if (hasLines && !hasTemplate) {
    if (!isGiven("by"))
      wrong(
        "by",
        message`is missing; add ${setting("by", "json:/type")}, or where the events' type is`,
        "missing_key",
      )
    if (!isGiven("routes")) wrong("routes", "has no lines; add some, such as invoice.* = billing")
    for (const key of ["topics", "max_topics"] as const)
      if (isGiven(key))
        wrong(key, "has no effect on lines, which name their topics; remove it", "conflicting_keys")
  }
  if (hasTemplate && !isGiven("topics"))
    wrong(
      "topics",
      message`is missing; add the topics that the template may give, such as ${setting("topics", "events.*")}`,
      "missing_key",
    )
  checkLines(values.routes ?? [], (text) => wrong("routes", text))
}

function checkLines(routes: readonly RouteLine[], wrong: (text: string) => void): void {
  const before = new Set<string>()
  for (const { pattern, topics } of routes) {
    const line = JSON.stringify(pattern)
    if (before.has(pattern)) wrong(`${line} has a line before; remove one of them`)
    else if (before.has("*")) wrong(`${line} is behind *, which matches every value; move it up`)
    before.add(pattern)
    const meant = misspelled(pattern, topics.join(", "))
    if (meant !== undefined) wrong(`${line} is a pattern; did you mean the key ${meant}?`)
  }
}

/** The key that a line seems to be, misspelled: it would take the topic as its value. */
function misspelled(pattern: string, topic: string): string | undefined {
  const key = ROUTER_KEYS.find((it) => it === nearest(pattern, ROUTER_KEYS))
  if (key === undefined || key === pattern) return undefined
  try {
    ROUTER_OPTIONS[key].parse(topic, { baseDir: "/" })
    return key
  } catch (error) {
    if (error instanceof WrongValue) return undefined
    throw error
  }
}
