import { list, text } from "../config/options.ts"
import { HooklineError, PublishError } from "../errors.ts"
import { Accepted, type Dropped, type Event, type Rejected } from "../event.ts"
import { refusalOf } from "../http/answer.ts"
import type { Record, RecordHeader } from "../record.ts"
import { defineComponent } from "./component.ts"
import { deadLetter } from "./dead-letter.ts"
import { EXTRACTION_FORM, parseExtraction, type Extract } from "./extraction.ts"

const TOPIC = {
  // org.apache.kafka.common.internals.Topic
  pattern: /^(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}$/,
  form: "a topic name: 1 to 249 letters, digits, dots, underscores and hyphens",
}
const HEADER_FORM = `a name, =, and ${EXTRACTION_FORM}`

/** Publishes each event to a topic and waits for the broker's acknowledgement. */
export const BrokerSink = defineComponent({
  kind: "sink",
  name: "BrokerSink",
  aliases: ["KafkaSink"],
  summary:
    "Publishes each event to a topic of a connection's broker; the sender is answered after its acknowledgement.",
  options: {
    topic: text({
      ...TOPIC,
      doc: "The topic that events are published to. There is no default on purpose.",
    }),
    connection: text({
      optional: true,
      doc: "Id of the connection to publish on. Needed only where there are several.",
    }),
    key: text({
      form: EXTRACTION_FORM,
      accepts: (value) => parseExtraction(value) !== undefined,
      optional: true,
      doc: "Where a record's key comes from: `json:/pointer` into the body, `header:Name` or `path`. Records of one key keep their order; an event that lacks it is published without a key.",
    }),
    headers: list(
      text({ form: HEADER_FORM, accepts: (value) => parseHeader(value) !== undefined, doc: "" }),
      {
        optional: true,
        doc: "Record headers, each as `name=json:/pointer`, `name=header:Name` or `name=path`. One that an event lacks is left out.",
      },
    ),
    dead_letter_topic: text({
      ...TOPIC,
      optional: true,
      doc: "The topic for what verified senders sent and the pipeline refused (4xx) or dropped as invalid: the body as it came, with the reason in headers, see dead-letters.md. Needs a Verifier, or `tls_client_ca`. Without it nothing but accepted events is published.",
    }),
  },
  check({ values: { topic, dead_letter_topic: letters }, wrong }) {
    if (letters !== undefined && letters === topic)
      wrong("dead_letter_topic", "is the topic itself, where nothing that was refused may be; choose another")
  },
  create({ topic, connection, key, headers, dead_letter_topic: letters }, context) {
    const { broker, deliveryTimeoutMs } = context.connection(connection)
    broker.prepare(letters === undefined ? [topic] : [topic, letters])
    const keyOf = key === undefined ? undefined : must(parseExtraction(key), key)
    const headerSpecs = headers?.map((header) => must(parseHeader(header), header))
    // Hot path: one record, one promise of the broker, one outcome.
    const publish = async (record: Record, { arrivedMs }: Event): Promise<Accepted | Rejected> => {
      try {
        return new Accepted(await broker.publish(record, arrivedMs + deliveryTimeoutMs))
      } catch (error) {
        if (error instanceof PublishError) return refusalOf(error)
        throw error
      }
    }
    const from = { pipeline: context.pipeline, topic }
    return Object.assign(
      (event: Event) => {
        const record = {
          topic,
          key: keyOf?.(event),
          value: event.body,
          headers: headerSpecs && headersOf(event, headerSpecs),
        }
        return publish(record, event)
      },
      {
        deadLetter:
          letters === undefined
            ? undefined
            : (event: Event, outcome: Rejected | Dropped) =>
                publish(deadLetter(letters, event, outcome, from), event),
      },
    )
  },
})

interface HeaderSpec {
  readonly name: string
  readonly extract: Extract
}

function parseHeader(header: string): HeaderSpec | undefined {
  const [, name, rest] = /^([^=\s]+)\s*=\s*(.+)$/.exec(header) ?? []
  const extract = rest === undefined ? undefined : parseExtraction(rest)
  return name === undefined || extract === undefined ? undefined : { name, extract }
}

function headersOf(event: Event, specs: readonly HeaderSpec[]): RecordHeader[] {
  const headers: RecordHeader[] = []
  for (const { name, extract } of specs) {
    const value = extract(event)
    if (value !== undefined) headers.push([name, value])
  }
  return headers
}

function must<T>(value: T | undefined, text: string): T {
  if (value === undefined) throw new HooklineError("config", `${text} is not ${EXTRACTION_FORM}`)
  return value
}
