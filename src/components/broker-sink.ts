import { message, setting } from "../message.ts"
import { steadyMs } from "../clock/clock.ts"
import { custom, list, oneOf, text, type OptionSet, type Values } from "../config/options/option-types.ts"
import { HooklineError, PublishError } from "../errors.ts"
import { toBytes, type Event } from "../pipeline/event.ts"
import { Accepted, decisive, type Dropped, type Rejected } from "../pipeline/outcome.ts"
import { unpublished, UNPUBLISHED } from "../pipeline/service-unavailable.ts"
import type { Receipt, Record, RecordHeader } from "../pipeline/record.ts"
import type { Span } from "../telemetry/traces/trace.ts"
import type { KnownSender } from "./known-sender.ts"
import {
  checkCloudEventsInPipeline,
  CLOUDEVENTS_OPTIONS,
  cloudEventHeaders,
  isCloudEventHeader,
  type AddHeaders,
} from "./broker-sink/cloud-events.ts"
import { isTraceHeader, publishedTo, startPublishing, traceHeaders } from "./broker-sink/tracing.ts"
import { checkRegistry, schemaJudge, VALUE_FORMAT_OPTIONS, withSchemaId } from "./broker-sink/value-format.ts"
import { defineComponent, type ComponentContext } from "./define-component.ts"
import { deadLetterRecord } from "./broker-sink/dead-letter-record.ts"
import { EXTRACTION, checkExtractions, chosenByRouter, valueOption } from "./extraction.ts"
import {
  ALL_HEADERS,
  allHeadersOf,
  eventHeadersOf,
  keepRequestHeaders,
  NO_HEADERS,
} from "./request-headers.ts"
import { TOPIC_NAME } from "../pipeline/topic-name.ts"

const HEADER_FORM = `a name, =, and ${EXTRACTION.form}; or ${NO_HEADERS}, or ${ALL_HEADERS}`
/** The position of an event that is not of a list. */
const isWord = (text: string): boolean => text === NO_HEADERS || text === ALL_HEADERS

const ID = text({ doc: "" })

const OPTIONS = {
  topic: text({
    ...TOPIC_NAME,
    meant: chosenByRouter,
    doc: "The topic that events are published to, unless a Router chooses another.",
  }),
  connection: custom<string, { optional: true; doc: string }, string | { readonly id: string }>(
    "a text",
    {
      optional: true,
      doc: "Id of the connection to publish on. Needed only where there are several.",
    },
    (value) => ID.parse(value, { baseDir: "" }),
    (given) => ID.fromCode(typeof given === "object" && given !== null ? given.id : given),
  ),
  key: valueOption({
    ...EXTRACTION,
    optional: true,
    doc: "The source of a record's key: `json:/pointer` into the body, `header:Name`, `path`, or `event:id`, `event:type`, `event:time`, where the provider's preset knows it (see providers.md). Records of one key keep their order; an event without it is published without a key.",
  }),
  headers: list(text({ form: HEADER_FORM, accepts: (value) => isWord(value) || isHeader(value), doc: "" }), {
    optional: true,
    doc: "Record headers, each as `name=json:/pointer`, `name=header:Name`, `name=path` or `name=event:type`. Those that an event lacks are omitted. Default: the request headers in which the provider's preset has the event's id, type, time or source, under their names in lower case; see headers.md. `none`: no headers; `*`: all request headers but those of the connection and credentials.",
  }),
  ...CLOUDEVENTS_OPTIONS,
  trace_headers: oneOf(["off", "on"], {
    default: "off",
    doc: "With `on`, the request's `traceparent` and `tracestate` (W3C Trace Context) are record headers, where they are well-formed; with `[traces]`, those of the span that publishes the record, see traces.md.",
  }),
  ...VALUE_FORMAT_OPTIONS,
  dead_letter_topic: text({
    ...TOPIC_NAME,
    optional: true,
    doc: "The topic for verified events that the pipeline refused (4xx) or dropped as invalid: the body as received, with the reason in headers, see dead-letters.md. Needs a Verifier, or `tls_client_ca`. Without it only accepted events are published.",
  }),
} satisfies OptionSet
type Options = typeof OPTIONS

/** Publishes each event to a topic and waits for the broker's acknowledgement. */
export const brokerSink = defineComponent({
  kind: "sink",
  name: "BrokerSink",
  aliases: ["KafkaSink"],
  summary:
    "Publishes each event to a topic of a connection's broker; the sender is answered after its acknowledgement.",
  options: OPTIONS,
  check(checking) {
    const { values, wrong } = checking
    const { topic, headers, cloudevents, trace_headers, dead_letter_topic: letters } = values
    checkRegistry(checking)
    if (headers !== undefined && headers.length > 1 && headers.some(isWord))
      wrong("headers", `${headers.find(isWord)} is the whole value; remove it, or the others`)
    for (const header of headers ?? []) {
      const [name] = splitHeader(header) ?? [""]
      if (cloudevents === "binary" && isCloudEventHeader(name))
        wrong("headers", message`${name} is set by ${setting("cloudevents", "binary")}; remove it here`)
      if (trace_headers === "on" && isTraceHeader(name))
        wrong("headers", message`${name} is set by ${setting("trace_headers", "on")}; remove it here`)
    }
    if (letters !== undefined && letters === topic)
      wrong("dead_letter_topic", "is the topic of accepted events; choose another")
  },
  checkInPipeline({ values, sender, wrong }) {
    const { key, headers } = values
    checkCloudEventsInPipeline({ values, sender, wrong })
    if (key !== undefined) checkExtractions([key], sender, (text) => wrong("key", text))
    const texts = headers?.flatMap((header) => splitHeader(header)?.[1] ?? []) ?? []
    checkExtractions(texts, sender, (text) => wrong("headers", text))
    const secret = sender?.covers?.credential?.header
    if (secret !== undefined && texts.some((text) => text.toLowerCase() === `header:${secret}`))
      wrong("headers", `${secret} is the secret that ${sender!.name} sends, which no record may contain`)
  },
  recordHeaders({ headers }, sender) {
    if (headers === undefined) return eventHeadersOf(sender)
    return headers.includes(NO_HEADERS) ? [] : headers.map((header) => splitHeader(header)?.[0] ?? header)
  },
  create(values, context) {
    const sink = new BrokerPublisher(values, context)
    return Object.assign(
      (event: Event) => sink.publish(event),
      { outcomes: UNPUBLISHED },
      schemaJudge(values, context),
      values.dead_letter_topic !== undefined && {
        deadLetter: (event: Event, outcome: Rejected | Dropped) => sink.deadLetter(event, outcome),
      },
    )
  },
})

/** Publishes the records of a pipeline's events. Hot path. */
class BrokerPublisher {
  readonly #pipeline: string
  readonly #topic: string
  readonly #letters: string | undefined
  readonly #to: ReturnType<ComponentContext["connection"]>
  readonly #log: ComponentContext["log"]
  readonly #keyOf: ReturnType<typeof EXTRACTION.parse> | undefined
  /** Headers of accepted events' records, and of dead letters'. */
  readonly #adding: readonly AddHeaders[]
  readonly #addingToLetters: readonly AddHeaders[]
  readonly #isFramed: boolean

  constructor(values: Values<Options>, context: ComponentContext) {
    const { topic, connection, key, headers, dead_letter_topic: letters } = values
    const { pipeline, sender, log } = context
    this.#pipeline = pipeline
    this.#topic = topic
    this.#letters = letters
    this.#log = log
    this.#to = context.connection(connection)
    this.#to.prepare(letters === undefined ? [topic] : [topic, letters])
    this.#keyOf = key === undefined ? undefined : EXTRACTION.parse(key, sender)
    const tracing = values.trace_headers === "on" ? [traceHeaders] : NOTHING
    const kept = keptHeaders(values, context)
    const adding = [
      kept ?? (headers && configuredHeaders(headers, sender)),
      cloudEventHeaders(values, context),
      ...tracing,
    ].filter((it) => it !== undefined)
    this.#adding = adding.length === 0 ? NOTHING : adding
    this.#addingToLetters =
      letters === undefined ? NOTHING : kept === undefined ? tracing : [kept, ...tracing]
    this.#isFramed = values.value_format === "json-schema"
  }

  publish(event: Event): Promise<Accepted | Rejected> {
    const topic = event.topic ?? this.#topic
    const span = this.#spanOf(topic, event)
    const key = event.key ?? this.#keyOf?.(event)
    const headers =
      this.#adding.length === 0 && event.recordHeaders === undefined
        ? undefined
        : [...headersOf(event, this.#adding, span), ...ownHeaders(event)]
    if (event.publishesReceived) event.restoreReceived()
    const value = this.#isFramed ? framed(event) : event.body
    const { otherTopics, dedupeKey } = event
    if (otherTopics === undefined)
      return this.#publish({ topic, key, value, headers, dedupeKey }, event, span)
    // the key is stored once all are durable: with one record it would keep the others out after a retry
    const first = this.#publish({ topic, key, value, headers }, event, span)
    const others = otherTopics.map((name) =>
      this.#publish({ topic: name, key, value, headers }, event, this.#spanOf(name, event)),
    )
    return allOf([first, ...others])
  }

  deadLetter(event: Event, outcome: Rejected | Dropped): Promise<Accepted | Rejected> {
    const topic = this.#letters!
    const { trace } = event.request
    const span = trace && startPublishing(trace, topic, `publish ${topic}`, this.#to.messagingSystem)
    const from = { pipeline: this.#pipeline, topic: this.#topic }
    const record = deadLetterRecord(topic, event, outcome, from)
    const headers = [...record.headers!, ...headersOf(event, this.#addingToLetters, span)]
    return this.#publish({ ...record, headers }, event, span)
  }

  #spanOf(topic: string, { request: { trace } }: Event): Span | undefined {
    if (trace === undefined) return undefined
    const name = topic === this.#topic ? `publish ${topic}` : "publish"
    return startPublishing(trace, topic, name, this.#to.messagingSystem)
  }

  /** Publishes by the event's deadline: one promise of the broker, one outcome. */
  async #publish(
    record: Record,
    { arrivedMs, request }: Event,
    span: Span | undefined,
  ): Promise<Accepted | Rejected> {
    const { broker, deliveryTimeoutMs } = this.#to
    try {
      const receipt = await broker.publish(record, arrivedMs + deliveryTimeoutMs)
      if (span !== undefined) span.end(publishedTo(receipt))
      if (this.#log.isLevelEnabled("debug")) {
        const what = record.topic === this.#letters ? "dead letter published" : "event published"
        const position = positionOf(record, receipt, steadyMs() - arrivedMs)
        this.#log.debug({ ...position, request_id: request.id }, what)
      }
      return new Accepted(receipt)
    } catch (error) {
      const refusal = error instanceof PublishError ? unpublished(error) : undefined
      if (span !== undefined) span.end({}, refusal?.reason ?? "internal")
      if (refusal !== undefined) return refusal
      throw error
    }
  }
}

const NOTHING: readonly never[] = []

function ownHeaders({ recordHeaders }: Event): readonly RecordHeader[] {
  if (recordHeaders === undefined) return NOTHING
  return Array.from(recordHeaders, ([name, value]) => [name, toBytes(value, `event.headers, ${name},`)])
}

/** All are awaited, so that none is under way after the answer. Rejects with a fault. */
async function allOf(publishing: readonly Promise<Accepted | Rejected>[]): Promise<Accepted | Rejected> {
  await Promise.allSettled(publishing)
  return decisive(await Promise.all(publishing))!
}

/** The record's value. The body gives way to it: an event that waits for its acknowledgement holds one. */
function framed(event: Event): Uint8Array {
  if (event.schemaId === undefined) throw new HooklineError("internal", "an event was not judged by a schema")
  const value = withSchemaId(event.schemaId, event.body)
  if (event.isReleased) event.receivedBody = value
  event.body = value
  return value
}

/** The place of a record, for the log: without what the broker does not know. */
function positionOf({ topic }: Record, { partition, offset }: Receipt, ms: number): object {
  const where = partition < 0 ? { spooled: true } : offset < 0 ? { partition } : { partition, offset }
  return { topic, ...where, ms: Math.round(ms * 10) / 10 }
}

function splitHeader(header: string): [name: string, extraction: string] | undefined {
  const [, name, rest] = /^([^=\s]+)\s*=\s*(.+)$/.exec(header) ?? []
  return name === undefined || rest === undefined ? undefined : [name, rest]
}

function isHeader(header: string): boolean {
  const split = splitHeader(header)
  return split !== undefined && EXTRACTION.accepts(split[1])
}

/** Headers of the request, under their own names; undefined: a list says what is kept, or nothing is. */
function keptHeaders(
  { headers, cloudevents, trace_headers }: Pick<Values<Options>, "headers" | "cloudevents" | "trace_headers">,
  { sender, log }: Pick<ComponentContext, "sender" | "log">,
): AddHeaders | undefined {
  const names = headers === undefined ? eventHeadersOf(sender) : []
  const isAll = headers?.includes(ALL_HEADERS) === true
  if (!isAll && names.length === 0) return undefined
  const isTaken = (name: string): boolean =>
    (cloudevents === "binary" && isCloudEventHeader(name)) || (trace_headers === "on" && isTraceHeader(name))
  const keep = keepRequestHeaders(isAll ? allHeadersOf(sender, isTaken) : () => names, log)
  return (event, added) =>
    keep(event, (name, value) => {
      // what verifies the signature again is kept by the Enricher
      if (event.recordHeaders?.has(name) !== true) added.push([name, value])
    })
}

function configuredHeaders(given: readonly string[], sender: KnownSender | undefined): AddHeaders {
  const specs = given.filter(isHeader).map((header) => {
    const [name, extraction] = splitHeader(header)!
    return { name, extract: EXTRACTION.parse(extraction, sender)! }
  })
  return (event, headers) => {
    for (const { name, extract } of specs) {
      const value = extract(event)
      if (value !== undefined) headers.push([name, value])
    }
  }
}

function headersOf(event: Event, adding: readonly AddHeaders[], span: Span | undefined): RecordHeader[] {
  const headers: RecordHeader[] = []
  for (const add of adding) add(event, headers, span)
  return headers
}
