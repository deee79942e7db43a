// Hot path: every event of a sink with cloudevents = binary passes here.
import { isUtf8 } from "node:buffer"
import { oneOf, text, type Values } from "../../config/options/option-types.ts"
import { only } from "../../config/declarations.ts"
import type { Event } from "../../pipeline/event.ts"
import type { RecordHeader } from "../../pipeline/record.ts"
import type { Span } from "../../telemetry/traces/trace.ts"
import { asBuffer } from "../../json/tokens.ts"
import { locateEventPart } from "../known-sender.ts"
import { parseTime } from "../../verify/verification.ts"
import type { CheckingInPipeline, ComponentContext } from "../define-component.ts"
import { EXTRACTION, checkExtractions, type ValueOf } from "../extraction.ts"

/*
 * The headers of CloudEvents 1.0 in the binary content mode of its Kafka protocol binding; the value is the event's data.
 *
 *     ce_specversion  1.0
 *     ce_id           the event's id, else a new UUID
 *     ce_source       /pipelines/<id>
 *     ce_type         the event's type, else webhook
 *     ce_time         when it happened, in RFC 3339; where nothing is known of it, its arrival
 *     content-type    application/json
 *
 * https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md#32-binary-content-mode
 */

/** Appends headers of an event's record, which a span publishes. */
export type AddHeaders = (event: Event, headers: RecordHeader[], span?: Span) => void

const SOURCE_FORM = `${EXTRACTION.form}; or a URI reference, such as /payments`
const TYPE_FORM = `${EXTRACTION.form}; or a text`

const KEYS = ["cloudevents_id", "cloudevents_source", "cloudevents_type", "cloudevents_time"] as const
const NAMES = ["ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time", "content-type"]

export const CLOUDEVENTS_OPTIONS = {
  cloudevents: oneOf(["off", "binary"], {
    default: "off",
    doc: "With `binary`, record headers make each record a CloudEvent (1.0, Kafka protocol binding): `ce_specversion`, `ce_id`, `ce_source`, `ce_type`, `ce_time`, `content-type`; see cloudevents.md. The value stays as it is.",
  }),
  ...only(
    { cloudevents: ["binary"] },
    {
      cloudevents_id: text({
        ...EXTRACTION,
        optional: true,
        doc: "The source of `ce_id`; default: `event:id`, where the preset knows it. An event without it gets a new UUID.",
      }),
      cloudevents_source: text({
        form: SOURCE_FORM,
        accepts: (value) => (isExtractionLike(value) ? EXTRACTION.accepts(value) : isUriReference(value)),
        optional: true,
        doc: "The source of `ce_source`, or its value; default, also for an event without it: `/pipelines/<id>`.",
      }),
      cloudevents_type: text({
        form: TYPE_FORM,
        accepts: (value) => !isExtractionLike(value) || EXTRACTION.accepts(value),
        optional: true,
        doc: "The source of `ce_type`, or its value; default: `event:type`, where the preset knows it. An event without it gets `webhook`.",
      }),
      cloudevents_time: text({
        ...EXTRACTION,
        optional: true,
        doc: "The source of `ce_time`: RFC 3339, or seconds or milliseconds since 1970; default: `event:time`, where the preset knows it, else the event's arrival. An event without it gets no `ce_time`.",
      }),
    },
  ),
}

type Options = typeof CLOUDEVENTS_OPTIONS

export const isCloudEventHeader = (name: string): boolean => NAMES.includes(name.toLowerCase())

export function checkCloudEventsInPipeline({
  values,
  sender,
  wrong,
}: Pick<CheckingInPipeline<Options>, "values" | "sender" | "wrong">): void {
  for (const key of KEYS)
    if (values[key] !== undefined) checkExtractions([values[key]], sender, (it) => wrong(key, it))
}

/** undefined: off. */
export function cloudEventHeaders(
  values: Values<Options>,
  { pipeline, sender }: Pick<ComponentContext, "pipeline" | "sender">,
): AddHeaders | undefined {
  if (values.cloudevents === "off") return undefined
  const known = sender?.event ?? {}
  const find = (given: string | undefined): ValueOf | undefined =>
    given === undefined ? undefined : EXTRACTION.parse(given, sender)
  const idText = values.cloudevents_id ?? (known.id && "event:id")
  const findId = find(idText)
  const isIdShared =
    idText !== undefined && locateEventPart(idText, sender).some((it) => !it.startsWith("json:"))
  const source = constantOr(values.cloudevents_source, find)
  const type = constantOr(values.cloudevents_type ?? (known.type && "event:type"), find)
  const findTime = find(values.cloudevents_time ?? (known.time && "event:time"))
  const defaultSource = encode(`/pipelines/${encodeURIComponent(pipeline)}`)

  return (event, headers) => {
    const time = findTime === undefined ? new Date(event.receivedAtMs).toISOString() : timeOf(findTime(event))
    const id = valid(findId?.(event)) ?? encode(crypto.randomUUID())
    headers.push(
      SPECVERSION,
      // the items of a list share the request
      ["ce_id", isIdShared && event.list !== undefined ? encode(`${id}-${event.list.index}`) : id],
      ["ce_source", validSource(source(event)) ?? defaultSource],
      ["ce_type", valid(type(event)) ?? NO_TYPE],
    )
    if (time !== undefined) headers.push(["ce_time", encode(time)])
    headers.push(CONTENT_TYPE)
  }
}

const encode = (value: string): Buffer => Buffer.from(value)

const SPECVERSION: RecordHeader = ["ce_specversion", encode("1.0")]
const CONTENT_TYPE: RecordHeader = ["content-type", encode("application/json")]
const NO_TYPE = encode("webhook")

/** Whether it is meant as an extraction, well-formed or not. */
const isExtractionLike = (value: string): boolean => /^(?:path$|(?:json|header|event):)/.test(value)

function constantOr(value: string | undefined, find: (extraction: string) => ValueOf | undefined): ValueOf {
  if (value === undefined) return () => undefined
  if (isExtractionLike(value)) return find(value)!
  const constant = encode(value)
  return () => constant
}

/** RFC 3986, 4.1, by its characters. */
const isUriReference = (value: string): boolean =>
  /^(?:[\w\-.~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})+$/i.test(value)

function validSource(value: Uint8Array | undefined): Uint8Array | undefined {
  return value !== undefined && isUriReference(Buffer.from(value).toString("latin1")) ? value : undefined
}

/** CloudEvents 1.0, 3.1.1: not empty, no control characters. Bytes of a header that are not UTF-8 are read as Latin-1. */
function valid(bytes: Uint8Array | undefined): Buffer | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined
  const value = isUtf8(bytes) ? bytes : encode(asBuffer(bytes).toString("latin1"))
  for (let i = 0; i < value.length; i++) {
    const byte = value[i]!
    if (byte < 0x20 || byte === 0x7f) return undefined
    // U+0080 to U+009F
    if (byte === 0xc2 && value[i + 1]! < 0xa0) return undefined
  }
  return asBuffer(value)
}

/** RFC 3339 with a colon in its offset is kept as it is spelled. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/
/** Its last time, in milliseconds since 1970. */
const END_OF_9999 = 253_402_300_799_999

/** A time in RFC 3339; undefined: the event has none, or of an unknown form. */
function timeOf(value: Uint8Array | undefined): string | undefined {
  if (value === undefined || value.length > 40) return undefined
  const spelled = Buffer.from(value).toString()
  // seconds with decimals, as Mailgun's
  const [, seconds] = /^(\d{9,10}\.\d+)$/.exec(spelled) ?? []
  const ms = seconds === undefined ? parseTime(spelled, "any") : Math.floor(Number(seconds) * 1000)
  if (ms === undefined || ms > END_OF_9999) return undefined
  return RFC_3339.test(spelled) ? spelled : new Date(ms).toISOString()
}
