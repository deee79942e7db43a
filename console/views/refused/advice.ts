import type { CaptureDetail, PipelineOverview } from "../../api.ts"

export interface Advice {
  readonly text: string
  /** Lines of pipelines.conf. */
  readonly configuration?: string
}

/** What to do about a request that was refused for another reason than its signature; undefined: its reason says it all. */
export function adviceOn(
  { summary, headers }: Pick<CaptureDetail, "summary" | "headers">,
  pipelines: readonly PipelineOverview[],
): Advice | undefined {
  const { reason, pipeline, outcome, status } = summary
  if (outcome !== "rejected") return undefined
  if (reason === "unknown_path") return { text: `Pipelines listen at ${pathsOf(pipelines)}.` }
  const section = (component: string, ...lines: string[]): string =>
    [`[pipeline:${pipeline}:${component}]`, ...lines].join("\n")
  switch (reason) {
    case "invalid_json":
      return isForm(headers)
        ? {
            text: "It is a form. A Decoder turns it into a JSON object:",
            configuration: section("Decoder", "format = auto"),
          }
        : {
            text: "Events are JSON objects. A Decoder also accepts forms and text:",
            configuration: section("Decoder", "format = auto"),
          }
    case "not_an_object":
      return {
        text: "A Decoder can turn each item of a list into an event:",
        configuration: section("Decoder", "lists = split"),
      }
    case "body_too_large":
      return {
        text: "Raise the pipeline's limit (1 MiB unless configured):",
        configuration: section("WebHookSource", "max_body_bytes = 4MiB"),
      }
    case "method_not_allowed":
      return { text: "Set the provider's webhook to POST." }
    case "rate_limited":
      return {
        text: "More events arrived than rate_limit of its WebHookSource allows; their senders are told to send them again.",
      }
    case "unverified_rate_limited":
      return {
        text: "So many requests from its address failed verification that further ones are refused unread; the requests below it in the list say why.",
      }
    default:
      if (status !== 503 || reason.startsWith("unverified_")) return undefined
      return {
        text: "It was not published. Its sender is told to send it again, by 503 with Retry-After.",
      }
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
