import { withoutHidden } from "../../process/hidden-segments.ts"
import { EVENT_VALUE, type ValueOf } from "../../components/extraction.ts"
import { toLocalTime } from "../../components/local-time.ts"
import { findFlaw } from "../../json/check.ts"
import type { Event } from "../../pipeline/event.ts"
import type { AnsweredRequest } from "../../pipeline/outcome-log.ts"
import type { PlannedPipeline } from "../../runtime/plan/plan.ts"
import { senderOf } from "../../components/processor-facts.ts"
import { escapeLine } from "../../telemetry/escape-controls.ts"
import type { KnownSender } from "../../components/known-sender.ts"
import type { EventPart } from "../../verify/senders.ts"
import type { Paint, Style } from "../../process/colours.ts"

/** Where events without a known provider often have them. */
const USUAL: KnownSender = {
  name: "none",
  event: { type: "json:/type", id: "json:/id" },
  covers: undefined,
}
const NONE = "-"
const LONGEST = 60

/** Where an accepted event is: `webhooks[0]@42`. */
export function placeInWords({ outcome, event }: AnsweredRequest, topic: string): string | undefined {
  if (outcome?.kind !== "accepted") return undefined
  const { partition, offset } = outcome.receipt
  const name = event?.topic ?? topic
  return partition < 0 ? undefined : `${name}[${partition}]@${offset < 0 ? "?" : offset}`
}

/** Makes the lines of events: time, status, type, id, size, and where the event is or why it is not. */
export function lineMaker(pipelines: readonly PlannedPipeline[], paint: Paint) {
  const finders = new Map(
    pipelines.map(({ id, processors }) => {
      const sender = senderOf(processors) ?? USUAL
      const find = (part: EventPart): ValueOf | undefined =>
        sender.event[part] === undefined ? undefined : EVENT_VALUE.parse(`event:${part}`, sender)
      return [id, { type: find("type"), id: find("id") }]
    }),
  )
  return (answered: AnsweredRequest, place: string | undefined): string => {
    const { pipeline, request, event, bytes, status } = answered
    const { type, id } = finders.get(pipeline ?? "") ?? {}
    const { style, ending } = endingOf(answered, place)
    return [
      paint("dim", toLocalTime(Date.now()).slice(11, 23)),
      paint(style, `${status}`),
      ...(finders.size > 1 && pipeline !== undefined ? [pipeline] : []),
      ...(pipeline === undefined ? [`${request.method} ${shorten(withoutHidden(request.path))}`] : []),
      paint("bold", shown(type, event)),
      shown(id, event),
      bytes === undefined ? NONE : sizeInWords(bytes),
      ending,
    ].join("  ")
  }
}

function endingOf(
  { outcome }: AnsweredRequest,
  place: string | undefined,
): { readonly style: Style; readonly ending: string } {
  switch (outcome?.kind) {
    case "accepted":
      return { style: "green", ending: place ?? "in the spool" }
    case "answered":
      return { style: "green", ending: `handshake answered: ${outcome.reason}` }
    case "dropped":
      return { style: "yellow", ending: withDetail(`dropped: ${outcome.reason}`, outcome.detail) }
    case "rejected":
      return {
        style: "red",
        ending: withDetail(`refused: ${outcome.reason}`, outcome.logDetail ?? outcome.detail),
      }
    case undefined:
      return { style: "red", ending: "a fault, see the log" }
  }
}

const withDetail = (text: string, detail: string | undefined): string =>
  detail === undefined ? text : `${text}: ${escapeLine(detail)}`

function shown(find: ValueOf | undefined, event: Event | undefined): string {
  if (find === undefined || event === undefined) return NONE
  // pointers look into valid JSON only
  if (findFlaw(event.body) !== undefined) return NONE
  const value = find(event)
  return value === undefined ? NONE : shorten(Buffer.from(value).toString())
}

function shorten(text: string): string {
  const escaped = escapeLine(text)
  return escaped.length > LONGEST ? `${escaped.slice(0, LONGEST)}…` : escaped
}

/** `512 B`, `1.2 KiB`, `3.4 MiB` */
export function sizeInWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const [unit, size] = bytes < 1024 ** 2 ? ["KiB", 1024] : ["MiB", 1024 ** 2]
  return `${(bytes / (size as number)).toFixed(1)} ${unit}`
}
