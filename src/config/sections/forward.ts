import {
  custom,
  duration,
  file,
  integer,
  list,
  number,
  oneOf,
  path,
  text,
  WrongValue,
} from "../options/option-types.ts"
import { HEADER_NAME } from "../../headers.ts"
import { only } from "../options/relations.ts"
import { defineSection } from "../options/section.ts"
import { TOPIC_PLACE } from "./topic-place.ts"

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** By line, `Name: value`; a value may have commas. */
const headers = custom<readonly (readonly [string, string])[], { optional: true; secret: true; doc: string }>(
  "headers, one a line, as Name: value",
  {
    optional: true,
    secret: true,
    doc: "Headers of each request, one a line, such as `Authorization: Bearer ${file:/run/secrets/app-token}`.",
  },
  (value) =>
    value
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const [, name, content] = HEADER_LINE.exec(line) ?? []
        if (name === undefined || content === undefined) throw new WrongValue(NO_HEADER, NO_HEADER)
        return [name, content] as const
      }),
  (given) => given,
)
const HEADER_LINE = new RegExp(String.raw`^\s*(${HEADER_NAME})\s*:\s*([\x20-\x7e]*?)\s*$`)
const NO_HEADER = "has a line that is not `Name: value`, in ASCII"

export const FORWARD = defineSection({
  title: "forward",
  aliases: [],
  summary:
    "Posts each record of a topic to a URL, from a durable position, as part of the service; see [forwarding.md](forwarding.md).",
  options: {
    from: text({
      ...TOPIC_PLACE,
      doc: "The topic: `<connection>/<topic>`.",
    }),
    url: text({
      secret: true,
      doc: "Where its records are posted: an http or https URL. A password in it is sent as basic authentication.",
    }),
    where: list(text({ doc: "" }), {
      optional: true,
      doc: "Only records that match all of these conditions, as those of `tail --where`: `json:/type=invoice.*`, `header:<name>=<pattern>`, `key=<pattern>`. Default: all.",
    }),
    begin: oneOf(["end", "beginning"], {
      default: "end",
      doc: "Where a new one begins: with records published from then on, or with all that the topic has. One that has a position continues there.",
    }),
    concurrency: integer({
      min: 1,
      max: 1000,
      default: "1",
      doc: "How many records are posted at once: those of a key one after the other, those without a key in no order. With 1 they are posted in the order of the log, the next one once the one before it is delivered or parked.",
    }),
    rate: number({
      min: 0.001,
      max: 1_000_000,
      optional: true,
      doc: "Records a second, at most. Default: no limit.",
    }),
    timeout: duration({
      minMs: 100,
      maxMs: 60 * MINUTE_MS,
      default: "30s",
      doc: "How long an answer may take.",
    }),
    retries: integer({
      min: 0,
      max: 1000,
      default: "5",
      doc: "How often a record is posted again that is answered with 5xx, 408, 425 or 429, or not at all, while the application accepts others; after that it counts as refused. While it accepts none, records wait without limit. With `concurrency = 1` the next record is posted after that many, to see whether it is accepted; with `on_refusal = stop` it is not, and the record waits without limit. With `on_refusal = stop` or `skip`, also how often a refused record is posted again.",
    }),
    on_refusal: oneOf(["park", "stop", "skip"], {
      default: "park",
      doc: "What happens to a record that is refused, by a 3xx or another 4xx. `park`: at once if others are accepted meanwhile, else after `park_after`, it is added to a list and the next one is posted; `hookline forward failures` prints it, and `hookline forward retry` posts its records again. `skip`: the same after `retries`, whether or not others are accepted. `stop`: after `retries` nothing more is posted until the next start or a reload that changes the section.",
    }),
    ...only(
      { on_refusal: ["park"] },
      {
        park_after: duration({
          minMs: 0,
          maxMs: 30 * DAY_MS,
          default: "10m",
          doc: "How long a record waits while all are refused, as by an application in the middle of a deployment.",
        }),
      },
    ),
    dead_letter_topic: text({
      optional: true,
      doc: "Topic of the same connection to which refused records are published, too, with their headers and why they were refused. Default: they stay in the log alone, as long as its retention keeps them.",
    }),
    headers,
    sign: oneOf(["none", "standard-webhooks", "as_received", "provider"], {
      default: "none",
      doc: "`standard-webhooks`: each request is signed by that standard with `secret`. `provider`: as the sender `provider` does, with `secret`, so that its own SDK accepts the request whenever it is posted. `as_received`: the signature that came with the event is passed on, for pipelines with `[pipeline:<id>:Enricher] value = received`.",
    }),
    ...only(
      { sign: ["standard-webhooks", "provider"] },
      {
        secret: text({
          optional: true,
          secret: true,
          requiredThen: true,
          doc: "What requests are signed with, in the form of the scheme's secrets, such as `whsec_…`. It is the application's and this section's alone, not the sender's.",
        }),
      },
    ),
    ...only(
      { sign: ["provider"] },
      {
        provider: text({
          optional: true,
          requiredThen: true,
          doc: "Whose scheme: a preset of [providers.md](providers.md).",
        }),
      },
    ),
    tls_ca: file({
      optional: true,
      doc: "File of the CA certificates (PEM) that the server's is checked against. Default: the public ones.",
    }),
    tls_certificate: file({
      optional: true,
      needs: "tls_key",
      doc: "Client certificate (PEM) for the server.",
    }),
    tls_key: file({ optional: true, needs: "tls_certificate", doc: "Its key (PEM)." }),
    directory: path({
      optional: true,
      doc: "Folder of its position. Default: the embedded log's folder, or `hookline-data` next to the configuration file; one that `hookline forward` began in `.hookline` under this id stays there.",
    }),
  },
})
