// Hot path: every event of a pipeline with a Filter passes here.
import { blank, message } from "../message.ts"
import { list } from "../config/options/option-types.ts"
import type { Processor } from "../pipeline/event.ts"
import { Dropped } from "../pipeline/outcome.ts"
import { defineComponent } from "./define-component.ts"
import { EVENT_VALUE, checkExtractions, valueOption } from "./extraction.ts"
import { rarely } from "../clock/lasting.ts"
import { compilePatterns } from "../json/pattern.ts"
import { pattern } from "./pattern.ts"

/** Drops events by a value of the body or a header. */
export const filter = defineComponent({
  kind: "processor",
  name: "Filter",
  summary:
    "Drops events by one of their values: the sender gets the answer of an accepted event, and nothing is published. An event without the value is kept, and counted.",
  options: {
    when: valueOption({
      ...EVENT_VALUE,
      doc: "The value that decides: a string, number or boolean of the body, a header's value, or `event:type` where the provider's preset knows it (see providers.md).",
    }),
    keep: list(pattern, {
      optional: true,
      doc: "Events with a value that none of these patterns matches are dropped.",
    }),
    drop: list(pattern, {
      optional: true,
      excludes: "keep",
      doc: "Events with a value that one of these patterns matches are dropped.",
    }),
  },
  check({ isGiven, wrong }) {
    if (!isGiven("keep") && !isGiven("drop"))
      wrong(
        "keep",
        message`is missing; add ${blank("keep", "patterns")} for the events to publish, or ${blank("drop", "patterns")}`,
        "missing_key",
      )
  },
  checkInPipeline({ values: { when }, sender, wrong }) {
    if (when !== undefined) checkExtractions([when], sender, (text) => wrong("when", text))
  },
  create({ when, keep, drop }, { log, metrics, sender, sourcePath }) {
    const valueOf = EVENT_VALUE.parse(when, sender, sourcePath)!
    const matches = compilePatterns(keep ?? drop!)
    const isDropped = keep === undefined
    const logWithoutValue = rarely(60_000, (events) =>
      log.warn(
        { events, when: typeof when === "function" ? "a function" : when },
        "events without the Filter's value pass unfiltered",
      ),
    )
    metrics.unfiltered(0)
    const process: Processor = (event) => {
      const value = valueOf(event)
      if (value === undefined) {
        metrics.unfiltered()
        logWithoutValue()
        return event
      }
      return matches(value) === isDropped ? FILTERED : event
    }
    return Object.assign(process, { outcomes: [FILTERED] })
  },
})

const FILTERED = new Dropped("filtered", "the Filter drops events with this value", { isRoutine: true })
