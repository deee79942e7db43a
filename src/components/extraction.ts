// Hot path: every event of a pipeline with a Filter or a Router passes here.
import { type Message } from "../message.ts"
import { custom, text, WrongValue } from "../config/options/option-types.ts"
import type { Declared, Parsed } from "../config/declarations.ts"
import { BACKSLASH, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../json/tokens.ts"
import { toText } from "../json/name.ts"
import { copyOf, parseRawPointer } from "../json/pointer.ts"
import { toBytes, type Event } from "../pipeline/event.ts"
import { headerBytes } from "../headers.ts"
import { EVENT_FORM, isEventPart, locateEventPart, type KnownSender } from "./known-sender.ts"
import { headerNameIn } from "../verify/senders.ts"

/** Reads a value of an event: the bytes of a header, else UTF-8; undefined: the event has none. */
export type ValueOf = (event: Event) => Uint8Array | undefined

/** What code may give in place of a text that names a value: a function of the event. undefined: the event has none. */
export type EventFunction = (event: Event) => Uint8Array | string | undefined

/** An option that names a value of the event by a text; code may give a function instead. */
export function valueOption<D extends Declared & { form: string; accepts: (text: string) => boolean }>(
  declared: D,
): Parsed<string | EventFunction, D> {
  const option = text(declared)
  const fromCode = (given: string | EventFunction): string | EventFunction =>
    typeof given === "function" ? given : option.fromCode(given)
  return custom(declared.form, declared, (value, context) => option.parse(value, context), fromCode)
}

/** Reads what a function of the user's returns; null is no value. Anything but bytes or text is a fault. */
export const valueBy =
  (find: EventFunction): ValueOf =>
  (event) => {
    const value = find(event) ?? undefined
    return value === undefined ? undefined : toBytes(value, "the value of a function")
  }

/** Reports the parts of the event that the provider is not known to have: a component's `checkInPipeline`. */
export function checkExtractions(
  texts: readonly (string | EventFunction)[],
  sender: KnownSender | undefined,
  report: (text: Message) => void,
): void {
  for (const text of texts) {
    if (typeof text === "function") continue
    try {
      locateEventPart(text, sender)
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error
      report(error.text)
    }
  }
}

/** How the value at a location is read; undefined: it counts as missing. */
interface Reading<T> {
  readonly header: (value: string, event: Event) => T | undefined
  /** @param raw of the body: a string in quotes, null */
  readonly json: (raw: Uint8Array) => T | undefined
}

/** Parses `header:Name` or `json:/pointer`; undefined: neither. */
export function locate<T>(
  text: string,
  { header, json }: Reading<T>,
): ((event: Event) => T | undefined) | undefined {
  const name = headerNameIn(text)
  if (name !== undefined)
    return (event) => {
      const value = event.request.headers.get(name)
      return value === null ? undefined : header(value, event)
    }
  const find = text.startsWith("json:") ? parseRawPointer(text.slice("json:".length)) : undefined
  return (
    find &&
    ((event) => {
      const raw = find(event.body)
      return raw && json(raw)
    })
  )
}

/** The texts by which an option names a value of the event. */
const valuesBy = (form: string, find: (location: string, sourcePath: string) => ValueOf | undefined) => ({
  /** For messages and the reference. */
  form,
  /**
   * Whether a text is of the form, for an option's test: which provider knows `event:id` is another question. A pointer may
   * contain line ends, but one of several lines is the file's next key, indented.
   */
  accepts: (text: string): boolean =>
    isEventPart(text) || (!text.includes("\n") && find(text, "") !== undefined),
  /**
   * @param sender the pipeline's, `context.sender`
   * @param sourcePath as configured, `context.sourcePath`: where segments are counted from
   * @returns undefined: malformed
   * @throws WrongValue for a part of the event that the provider is not known to have: see `checkExtractions`
   */
  parse: (
    text: string | EventFunction,
    sender: KnownSender | undefined,
    sourcePath = "",
  ): ValueOf | undefined =>
    typeof text === "function"
      ? valueBy(text)
      : firstOf(locateEventPart(text, sender).map((location) => find(location, sourcePath))),
})

/** What finds a value in the first place that has one; undefined: a place is malformed. */
export function firstOf<T>(
  finders: readonly (((event: Event) => T | undefined) | undefined)[],
): ((event: Event) => T | undefined) | undefined {
  const [first, second] = finders
  if (finders.length === 1) return first
  const rest = finders.length === 2 ? second : firstOf(finders.slice(1))
  return first && rest && ((event) => first(event) ?? rest(event))
}

const encoder = new TextEncoder()

/** A record's key, or a header's value: `json:/id`, `header:X-Request-Id`, `path` or `event:id`. */
export const EXTRACTION = valuesBy(
  `json:/pointer (RFC 6901), header:Name, path, or ${EVENT_FORM}`,
  (location) =>
    location === "path"
      ? (event) => encoder.encode(event.request.path)
      : locate(location, { header: headerBytes, json: copyOf }),
)

/**
 * The value that a Filter or Router decides by: a header's, or the text of a JSON string, number (as spelled) or boolean, if
 * not empty; null, objects and arrays are none. Not a copy.
 */
export const EVENT_VALUE = valuesBy(
  `json:/pointer (RFC 6901), header:Name, path, path:1 (a segment), query:name, or ${EVENT_FORM}`,
  (location, sourcePath) =>
    locateInUrl(location, sourcePath) ??
    locate(location, { header: (value) => (value === "" ? undefined : headerBytes(value)), json: scalar }),
)

const textOf = (text: string | null | undefined): Uint8Array | undefined =>
  text === "" || text === null || text === undefined ? undefined : Buffer.from(text)

/**
 * `path`, as it was sent; `path:1`, the first segment that the `*` of the source's path stands for; `query:name`, the first
 * parameter of that name, decoded.
 */
function locateInUrl(text: string, sourcePath: string): ValueOf | undefined {
  if (text === "path") return ({ request }) => textOf(request.path)
  const [, name] = /^query:([^\s{}]+)$/.exec(text) ?? []
  if (name !== undefined) return ({ request }) => textOf(new URLSearchParams(request.query).get(name))
  const [, segment] = /^path:([1-9]\d?)$/.exec(text) ?? []
  if (segment === undefined) return undefined
  if (!sourcePath.endsWith("/*")) return () => undefined
  const at = sourcePath.split("/").length - 2 + Number(segment)
  return ({ request }) => textOf(request.path.split("/", at + 1)[at])
}

const NULL = 0x6e

function scalar(raw: Uint8Array): Uint8Array | undefined {
  const [first] = raw
  if (first === undefined || first === OPEN_BRACE || first === OPEN_BRACKET || first === NULL)
    return undefined
  if (first !== QUOTE) return raw
  if (raw.length === 2) return undefined
  return raw.includes(BACKSLASH) ? Buffer.from(toText(raw)) : raw.subarray(1, -1)
}

/** What to do about the name of a topic that depends on the event, which is none; undefined: it does not. */
export function chosenByRouter(topic: string): string | undefined {
  const template = EXTRACTION.accepts(topic) ? `{${topic}}` : topic
  return /\{[^}]+\}/.test(template)
    ? `not one topic; a Router chooses topics by the event: write topic = ${template} in [pipeline:<id>:Router]`
    : undefined
}
