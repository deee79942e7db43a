import { InvalidArgumentError } from "commander"
import { parseTopicPlace, TOPIC_PLACE, type TopicPlace } from "../config/declarations.ts"
import type { RecordRange } from "../replay/range.ts"
import type { NamedTopic } from "./connections-of.ts"
import { parseTimeFlag } from "./flag-values.ts"

/** Records of a topic of a connection. */
export interface TopicRange extends TopicPlace {
  readonly range: RecordRange
  /** As it was given. */
  readonly text: string
}

/** `CONNECTION/TOPIC` */
export function parsePlaceFlag(text: string): TopicPlace {
  if (!TOPIC_PLACE.pattern.test(text)) throw new InvalidArgumentError("Expected CONNECTION/TOPIC.")
  return parseTopicPlace(text)
}

/** `TOPIC`, or `CONNECTION/TOPIC` */
export const parseTopicFlag = (text: string): NamedTopic =>
  text.includes("/") ? parsePlaceFlag(text) : { connection: undefined, topic: text }

/**
 * `CONNECTION/TOPIC`, or with a range: `@100..200` of offsets, before the second, or `@1h..` and `@2026-11-22T14:00..15m` of
 * times, as `tail --since` and `--until` take them.
 */
export function parseTopicRange(text: string): TopicRange {
  const at = text.indexOf("@")
  if (at < 0) return { ...parsePlaceFlag(text), range: {}, text }
  const [from, until, ...more] = text.slice(at + 1).split("..")
  if (from === undefined || until === undefined || more.length > 0 || from + until === "")
    throw new InvalidArgumentError("Expected a range as @100..200, @100.., @1h.. or @2026-11-22T14:00..15m.")
  return { ...parsePlaceFlag(text.slice(0, at)), range: parseRange(from, until), text }
}

function parseRange(from: string, until: string): RecordRange {
  const isOffset = (text: string): boolean => /^\d{1,15}$/.test(text)
  if ([from, until].every((text) => text === "" || isOffset(text)))
    return {
      fromOffset: from === "" ? undefined : Number(from),
      untilOffset: until === "" ? undefined : Number(until),
    }
  if (isOffset(from) || isOffset(until))
    throw new InvalidArgumentError("A range is of two offsets or of two times.")
  return {
    sinceMs: from === "" ? undefined : parseTimeFlag(from),
    untilMs: until === "" ? undefined : parseTimeFlag(until),
  }
}
