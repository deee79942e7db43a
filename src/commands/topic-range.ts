import { InvalidArgumentError } from "commander"
import { parseTopicPlace, TOPIC_PLACE, type TopicPlace } from "../config/declarations.ts"
import type { RecordRange } from "../replay/range.ts"
import type { Application } from "../runtime/application.ts"
import { placesIn, type NamedTopic } from "./connections-of.ts"
import { parseTimeFlag } from "./flag-values.ts"

/** Records of a topic, as an argument names them. */
export interface NamedRange extends NamedTopic {
  readonly range: RecordRange
  /** As it was given. */
  readonly text: string
}

/** Records of a topic of a connection, which its text has, too. */
export type TopicRange = NamedRange & TopicPlace

/** `CONNECTION/TOPIC` */
function parsePlaceFlag(text: string): TopicPlace {
  if (!TOPIC_PLACE.pattern.test(text)) throw new InvalidArgumentError("Expected CONNECTION/TOPIC, or TOPIC.")
  return parseTopicPlace(text)
}

/** `TOPIC`, or `CONNECTION/TOPIC` */
export const parseTopicFlag = (text: string): NamedTopic =>
  text.includes("/")
    ? parsePlaceFlag(text)
    : { connection: undefined, topic: parsePlaceFlag(`connection/${text}`).topic }

/**
 * `CONNECTION/TOPIC`, or `TOPIC`; or with a range: `@100..200` of offsets, before the second, or `@1h..` and `@2026-11-22T14:00..15m` of
 * times, as `tail --since` and `--until` take them.
 */
export function parseTopicRange(text: string): NamedRange {
  const at = text.indexOf("@")
  if (at < 0) return { ...parseTopicFlag(text), range: {}, text }
  const [from, until, ...more] = text.slice(at + 1).split("..")
  if (from === undefined || until === undefined || more.length > 0 || from + until === "")
    throw new InvalidArgumentError("Expected a range as @100..200, @100.., @1h.. or @2026-11-22T14:00..15m.")
  return { ...parseTopicFlag(text.slice(0, at)), range: parseRange(from, until), text }
}

/**
 * Finds the connections of what is replayed and where to. The range's text gets its connection, too: however it is named, it is
 * the same.
 *
 * @throws HooklineError `config`, `usage` where a connection is not clear
 */
export function replayPlaces(
  app: Application,
  {
    from,
    to,
    ...flags
  }: { readonly from: NamedRange; readonly to: NamedTopic | URL; readonly config?: string },
): { readonly from: TopicRange; readonly to: TopicPlace | URL } {
  const [source, target] = placesIn(app, to instanceof URL ? [from] : [from, to], flags)
  const text = from.connection === undefined ? `${source!.connection}/${from.text}` : from.text
  return { from: { ...source!, range: from.range, text }, to: to instanceof URL ? to : target! }
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
