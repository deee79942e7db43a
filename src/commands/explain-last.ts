import type { Static } from "../admin/api/shape.ts"
import { CaptureDetail, CaptureExplanation } from "../admin/api/shapes.ts"
import { Overview } from "./overview.ts"
import { HooklineError } from "../errors.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { RunningService, unavailable } from "./running-service.ts"
import { toText, verdictOf } from "./verify-report.ts"

/**
 * Explains the request that the running service refused last, as its admin API does; exit status 1, or 0 where it would
 * be verified now.
 *
 * @throws HooklineError `config`, `no_input`, `unavailable`: the service does not run, refuses the token, or has no such request
 */
export async function explainLast(flags: {
  readonly config?: string
  readonly pipeline?: string
  readonly json?: boolean
}): Promise<void> {
  const service = new RunningService(flags.config)
  const query = flags.pipeline === undefined ? "" : `?${new URLSearchParams({ pipeline: flags.pipeline })}`
  const last = await service.get(`/api/captures/last${query}`, CaptureDetail)
  if (last === undefined) throw await nothingToExplain(service, flags.pipeline)
  const { id } = last.summary
  const explanation = await service.get(
    `/api/captures/${encodeURIComponent(id)}/explanation`,
    CaptureExplanation,
  )
  if (explanation === undefined) throw unavailable("the captured request was dropped meanwhile; try again")
  const text =
    flags.json === true
      ? JSON.stringify({ request: last.summary, ...verdictOf(explanation), steps: explanation.steps })
      : toText(explanation, headingOf(last))
  console.log(escapeControls(text))
  process.exitCode = explanation.is_verified ? 0 : 1
}

function headingOf({ summary, detail }: Static<typeof CaptureDetail>): readonly string[] {
  const { at, pipeline, method, path, remote_address, status, reason, words } = summary
  return [
    `${pipeline ?? "no pipeline"}: ${method} ${path} from ${remote_address}, ${new Date(at).toISOString()}`,
    // why it is not verified, the result says
    `answered ${status} (${reason})${reason.startsWith("unverified_") ? "" : `: ${detail ?? words}`}`,
  ]
}

async function nothingToExplain(
  service: RunningService,
  pipeline: string | undefined,
): Promise<HooklineError> {
  const overview = await service.get("/api/overview", Overview)
  if (overview?.capture === "off")
    return unavailable("requests are not captured; set capture = refused in [admin], and have it sent again")
  if (pipeline !== undefined && overview?.pipelines.every(({ id }) => id !== pipeline) === true)
    return new HooklineError(
      "usage",
      `the running service has no pipeline ${pipeline}; it has ${overview.pipelines.map(({ id }) => id).join(", ")}`,
    )
  const of = pipeline === undefined ? "" : ` of pipeline ${pipeline}`
  return unavailable(`no refused request${of} is kept: none came since the start, or others took its place`)
}
