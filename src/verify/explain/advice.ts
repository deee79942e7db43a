import { mediaType } from "../../forms/body-format.ts"
import { findFlaw } from "../../json/check.ts"
import { visible } from "./visible.ts"

/** What to do about requests that are refused for one reason. */
export interface Advice {
  readonly text: string
  /** Where a body is no JSON: the line, and beneath it a mark at the place; null: not known. */
  readonly excerpt: string | null
  /** Lines of the configuration file; null: there are none to copy. */
  readonly configuration: string | null
}

/** A request as advice needs it. */
export interface RefusedRequest {
  readonly reason: string
  /** null: none has its path. */
  readonly pipeline: string | null
  readonly headers: Headers
  /** Without secrets; undefined: not kept. */
  readonly body: Uint8Array | undefined
}

/** Options of a WebHookSource. */
export interface SourceLimits {
  readonly max_body_bytes: number
  readonly content_types?: readonly string[] | undefined
  readonly rate_limit?: number | undefined
}

/** For each reason, the sentence, and the component and the line that would mend it. */
const ADVICE: { readonly [reason: string]: readonly [text: string, component?: string, line?: string] } = {
  unverified_missing_header: [
    "It is not signed, or as another provider signs. Enter the secret at the sender, and compare provider of the Verifier with who sends.",
  ],
  unverified_malformed: [
    "Its signature has another form than the provider's. Compare provider of the Verifier with who sends.",
  ],
  unverified_stale: [
    "It was signed too long ago. Compare the clocks of sender and this machine; tolerance of the Verifier is the longest time.",
  ],
  unverified_future: ["Its time is ahead of this machine's. Synchronize both clocks by NTP."],
  unverified_no_match: [
    "Copy the secret from the sender into the Verifier again. An opened request says whether another mistake explains it.",
  ],
  unverified_wrong_claim: [
    "It was signed for another recipient or by another issuer. Compare these options of the Verifier with the sender's.",
  ],
  unverified_replayed: [
    "Its signed id came before with another body. If the sender did not do that, someone else sent it.",
  ],
  unverified_keys_unavailable: [
    "This machine has to reach the address of the provider's keys. The sender sends it again.",
  ],
  unverified_rate_limited: [
    "So many requests of its address failed verification that further ones are refused unread. The pipeline's other refusals say why; unverified_rate_limit is the limit.",
  ],
  invalid_json: [
    "Have the sender send JSON, or accept forms and text with a Decoder:",
    "Decoder",
    "format = auto",
  ],
  empty_body: ["Events have a body. Have the sender send a JSON object."],
  invalid_utf8: ["Have the sender encode its JSON as UTF-8."],
  form_body: ["A Decoder turns a form into a JSON object:", "Decoder", "format = auto"],
  not_an_object: ["A Decoder can turn each item of a list into an event:", "Decoder", "lists = split"],
  schema_mismatch: ["Mend the sender, or the file that schema of the Validator names."],
  unknown_path: ["Compare the path at the sender with those of the pipelines."],
  path_not_normal: [
    "Compare the path at the sender with those of the pipelines: %-escapes and . or .. are not resolved.",
  ],
  record_too_large: [
    "Raise max.message.bytes of the topic, then max_request_bytes of the connection where it is less, or have the sender send smaller events.",
  ],
  content_encoding: [
    "Have the sender compress by one of the codings that Accept-Encoding of the answer names, or not at all.",
  ],
  compression_ratio: ["Have the sender compress it less, or not at all."],
  method_not_allowed: ["Set the provider's webhook to POST."],
  address_not_allowed: [
    "Add the address to allow of the WebHookSource if its sender is yours; behind a proxy set trusted_proxies.",
  ],
  body_timeout: [
    "The sender, or the network before it, is slow: body_timeout of [service] is the longest time.",
  ],
  in_flight_full: [
    "Raise max_in_flight_bytes of [service], or find out why the broker is slow. The sender sends it again.",
  ],
  unavailable: [
    "Mend the connection; the sender sends it again. With spool in its section, events are accepted while Kafka is away.",
  ],
  deadline: [
    "Mend what keeps the broker from answering, or raise delivery_timeout; the sender sends it again. With spool in the connection's section, events are accepted while Kafka is away.",
  ],
  refused: ["Mend what the broker says: the topic, its rights or its limits. The sender sends it again."],
  log_io: ["Make space on the disk, or mend it; the sender sends it again."],
  duplicate: [
    "The sender sent it before, and got 2xx both times; it was published once. Nothing is missing.",
  ],
  replayed: ["The sender sent it before, and got 2xx both times; it was published once. Nothing is missing."],
  filtered: ["The Filter is set to drop it; the sender got 2xx."],
  routed_to_drop: ["The Router is set to drop it; the sender got 2xx."],
}

/** What to do about the requests of a pipeline that are refused or dropped for a reason; undefined: nothing is known. */
export const textOfAdvice = (reason: string, status: number): string | undefined =>
  ADVICE[reason]?.[0].replace(/:$/, ".") ??
  SPECIAL[reason]?.text ??
  (status === 503 ? "The sender is told to send it again, by 503 with Retry-After." : undefined)

/** What to do about one request. A signature's failure has a report instead. @param limits undefined: there is no such pipeline */
export function adviceOn(request: RefusedRequest, status: number, limits?: SourceLimits): Advice | null {
  const { reason, pipeline, body, headers } = request
  const text = textOfAdvice(reason, status)
  if (text === undefined || (reason.startsWith("unverified_") && status === 401)) return null
  const isForm = reason === "invalid_json" && FORM.test(mediaType(headers.get("content-type")))
  const [, component, line] = ADVICE[reason] ?? []
  const lines = component === undefined ? undefined : ([component, line!] as const)
  const [section, option] = lines ?? sourceLine(request, limits) ?? []
  return {
    text: isForm ? "It is a form. A Decoder turns it into a JSON object." : text,
    excerpt: reason === "invalid_json" && !isForm && body !== undefined ? excerptOf(body) : null,
    configuration: section === undefined ? null : `[pipeline:${pipeline}:${section}]\n${option}`,
  }
}

const FORM = /^(application\/x-www-form-urlencoded|multipart\/form-data)$/

/** Reasons whose line depends on the request and the pipeline's limits. */
const SPECIAL: {
  readonly [reason: string]: {
    readonly text: string
    line(limits: SourceLimits, headers: Headers): string | undefined
  }
} = {
  body_too_large: {
    text: "Raise the pipeline's limit above the sender's largest event, or have it send smaller ones.",
    line({ max_body_bytes: limit }, headers) {
      const needed = Math.max(Number(headers.get("content-length") ?? 0), limit + 1)
      const kib = 2 ** Math.ceil(Math.log2(needed / 1024))
      if (kib > 1024 ** 2) return undefined
      return `max_body_bytes = ${kib < 1024 ? `${Math.max(kib, 1)}KiB` : `${kib / 1024}MiB`}`
    },
  },
  content_type: {
    text: "Accept the content type, if its sender is yours, or have it send another.",
    line({ content_types: accepted = [] }, headers) {
      const type = mediaType(headers.get("content-type"))
      return /^[\w.+-]+\/[\w.+-]+$/.test(type)
        ? `content_types = ${[...accepted, type].join(", ")}`
        : undefined
    },
  },
  rate_limited: {
    text: "More events come than the pipeline's rate_limit allows; the sender is told to send them again. Raise it if consumers can take more.",
    line: ({ rate_limit: limit }) => (limit === undefined ? undefined : `rate_limit = ${2 * limit}`),
  },
}

function sourceLine(
  { reason, headers }: RefusedRequest,
  limits: SourceLimits | undefined,
): readonly [section: string, line: string] | undefined {
  const line = limits && SPECIAL[reason]?.line(limits, headers)
  return line === undefined ? undefined : ["WebHookSource", line]
}

/** Most that are named. */
const MOST_PATHS = 5

/** What is said of a request that no pipeline has the path of. */
export function unknownPath(paths: readonly string[]): string {
  const more = paths.length - MOST_PATHS
  const named = paths.slice(0, MOST_PATHS).join(", ") + (more > 0 ? ` and ${more} more` : "")
  return `No pipeline has this path. Pipelines listen at ${named}.`
}

const EXCERPT_BYTES = 32

/** The text around what is not JSON, in one line, and a mark beneath the place. */
function excerptOf(body: Uint8Array): string | null {
  const flaw = findFlaw(body)
  if (flaw?.rule !== "invalid_json") return null
  const at = flaw.offset
  const shown = (from: number, until: number): string =>
    visible(body.subarray(Math.max(from, 0), until))
      .replaceAll("\n", "")
      .replaceAll("\uFFFD", "")
  const before = `${at > EXCERPT_BYTES ? "…" : ""}${shown(at - EXCERPT_BYTES, at)}`
  const after = `${shown(at, at + EXCERPT_BYTES)}${at + EXCERPT_BYTES < body.length ? "…" : ""}`
  return `${before}${after}\n${" ".repeat([...before].length)}^`
}
