import type { CaptureDetail, PipelineOverview } from "../../api.ts"

export interface Advice {
  readonly text: string
  /** Lines of pipelines.conf. */
  readonly configuration?: string
}

/** What to do for each reason, and the component and line of its configuration that do it. */
const ADVICE: { readonly [reason: string]: readonly [text: string, component?: string, line?: string] } = {
  invalid_json: [
    "Events are JSON objects. A Decoder also accepts forms and text:",
    "Decoder",
    "format = auto",
  ],
  not_an_object: ["A Decoder can turn each item of a list into an event:", "Decoder", "lists = split"],
  body_too_large: [
    "Raise the pipeline's limit (1 MiB unless configured):",
    "WebHookSource",
    "max_body_bytes = 4MiB",
  ],
  method_not_allowed: ["Set the provider's webhook to POST."],
  rate_limited: [
    "More events arrived than rate_limit of its WebHookSource allows; their senders are told to send them again.",
  ],
  unverified_rate_limited: [
    "So many requests from its address failed verification that further ones are refused unread; the requests below it in the list say why.",
  ],
}

/** What to do about a request that was refused for another reason than its signature; undefined: its reason says it all. */
export function adviceOn(
  { summary, headers }: Pick<CaptureDetail, "summary" | "headers">,
  pipelines: readonly PipelineOverview[],
): Advice | undefined {
  const { reason, pipeline, outcome, status } = summary
  if (outcome !== "rejected") return undefined
  if (reason === "unknown_path") return { text: `Pipelines listen at ${pathsOf(pipelines)}.` }
  const [text, component, line] = ADVICE[reason] ?? []
  if (text === undefined)
    return status === 503 && !reason.startsWith("unverified_")
      ? { text: "It was not published. Its sender is told to send it again, by 503 with Retry-After." }
      : undefined
  if (component === undefined) return { text }
  const isDecodable = reason === "invalid_json" && isForm(headers)
  return {
    text: isDecodable ? "It is a form. A Decoder turns it into a JSON object:" : text,
    configuration: `[pipeline:${pipeline}:${component}]\n${line}`,
  }
}

const isForm = (headers: CaptureDetail["headers"]): boolean =>
  headers.some(
    ({ name, value }) =>
      name.toLowerCase() === "content-type" &&
      /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(value),
  )

/** Most that are named. */
const MOST_PATHS = 5

function pathsOf(pipelines: readonly PipelineOverview[]): string {
  const paths = pipelines.filter(({ url }) => url !== "").map(({ url }) => new URL(url).pathname)
  const more = paths.length - MOST_PATHS
  return paths.slice(0, MOST_PATHS).join(", ") + (more > 0 ? ` and ${more} more` : "")
}
