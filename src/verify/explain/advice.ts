import { withoutHidden } from "../../process/hidden-segments.ts"
import { enumerateSome } from "../../words.ts"
import { formatOf, mediaType } from "../../forms/body-format.ts"
import { findFlaw } from "../../json/check.ts"
import ADVICE from "./advice.json" with { type: "json" }
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

interface Remedy {
  readonly text: string
  /** The line that would mend it, and the component that it is one of. */
  readonly component?: string
  readonly line?: string
}

/** By reason. */
const REMEDIES: { readonly [reason: string]: Remedy | undefined } = ADVICE

/** What to do about the requests of a pipeline that are refused or dropped for a reason; undefined: nothing is known. */
export const textOfAdvice = (reason: string, status: number): string | undefined =>
  REMEDIES[reason]?.text ??
  SPECIAL[reason]?.text ??
  (status === 503 ? "The sender is told to send it again, by 503 with Retry-After." : undefined)

/** What to do about one request. A signature's failure has a report instead. @param limits undefined: there is no such pipeline */
export function adviceOn(request: RefusedRequest, status: number, limits?: SourceLimits): Advice | null {
  const { reason, pipeline, body, headers } = request
  const text = textOfAdvice(reason, status)
  if (text === undefined || (reason.startsWith("unverified_") && status === 401)) return null
  const format = body && reason === "invalid_json" ? formatOf(body, headers.get("content-type")) : "json"
  if (format !== "json")
    return {
      text: `It is ${format === "text" ? "text" : "a form"}. A Decoder turns it into a JSON object.`,
      excerpt: null,
      configuration: `[pipeline:${pipeline}:Decoder]\nformat = auto`,
    }
  const { component = "WebHookSource", line = limits && SPECIAL[reason]?.line(limits, headers) } =
    REMEDIES[reason] ?? {}
  return {
    text,
    excerpt: reason === "invalid_json" && body !== undefined ? excerptOf(body) : null,
    configuration: line === undefined ? null : `[pipeline:${pipeline}:${component}]\n${line}`,
  }
}

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

/** Most that are named. */
const MOST_PATHS = 5

/** What is said of a request that no pipeline has the path of. */
export function unknownPath(paths: readonly string[]): string {
  return `No pipeline has this path. Pipelines listen at ${enumerateSome(paths.map(withoutHidden), MOST_PATHS)}.`
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
