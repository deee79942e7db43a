import { misfit, type Shape, type Static } from "../admin/api/shape.ts"
import { CaptureDetail, CaptureExplanation, Overview } from "../admin/api/shapes.ts"
import { atOnce } from "../clock/slices.ts"
import { readConfigurationFile } from "../config/file/configuration-file.ts"
import { isConfigured, loadForCommand } from "../config/file/load.ts"
import { formatEndpoint } from "../config/sections/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { fetchFailure } from "../outgoing/proxied-fetch.ts"
import { planAdmin } from "../runtime/plan/plan-part.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { askAdmin, CA_VARIABLE } from "./ask-admin.ts"
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
  const service = new AdminClient(flags.config)
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

async function nothingToExplain(service: AdminClient, pipeline: string | undefined): Promise<HooklineError> {
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

/** The admin API of the service that runs with a configuration file. */
class AdminClient {
  readonly #place: Parameters<typeof askAdmin>[0]
  readonly #address: string
  readonly #token: string | undefined
  readonly #file: string
  /** Where the address stands. */
  readonly #source: string

  /** Without a file it is at the default address, as `hookline dev` is. @throws HooklineError `config`, `no_input`, `unavailable` where it has no fixed address */
  constructor(file: string | undefined) {
    const hasFile = isConfigured(file)
    const none = { env: process.env, baseDir: process.cwd() }
    const configuration = hasFile
      ? loadForCommand(file)
      : atOnce(readConfigurationFile(new Uint8Array(), "no file", none))
    const { listen, token, tls_certificate } = planAdmin(configuration)
    this.#file = configuration.file
    this.#source = hasFile
      ? `the [admin] listen of ${this.#file}`
      : "the default address, since there is no pipelines.conf here and -c names no file"
    if (listen === "off" || listen.port === 0)
      throw unavailable(
        `[admin] listen of ${this.#file} is ${listen === "off" ? "off" : "a port that the system chooses"}: the running service can't be asked; set listen = 127.0.0.1:9464`,
      )
    this.#address = formatEndpoint(listen)
    this.#place = { listen, tls_certificate }
    this.#token = token
  }

  /** What the API answers; undefined: it has no such thing. @throws HooklineError `unavailable` */
  async get<T extends Shape>(path: string, shape: T): Promise<Static<T> | undefined> {
    const headers = this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` }
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const response = await askAdmin(this.#place, path, { headers, signal }).catch((error: unknown) => {
      throw unavailable(
        `no Hookline answers at ${this.#address}, ${this.#source} (${fetchFailure(error, CA_VARIABLE)}); does it run, and with this address?`,
        error,
      )
    })
    const text = await response.text()
    if (response.status === 401)
      throw unavailable(
        this.#token === undefined
          ? `the service at ${this.#address} requires a token, and [admin] of ${this.#file} has none; name the file that it runs with`
          : `the service at ${this.#address} does not accept the token in [admin] of ${this.#file}; it runs with another file, or has not reloaded this one`,
      )
    const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json") === true
    if (response.status === 404 && isProblem) return undefined
    const value = response.ok ? parse(text) : undefined
    if (value !== undefined && misfit(value, shape) === undefined) return value as Static<T>
    throw unavailable(
      `what listens on ${this.#address} answered ${path} with ${response.status}, not as this version of Hookline does: is it another program, or another version?`,
    )
  }
}

const TIMEOUT_MS = 10_000

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const unavailable = (message: string, cause?: unknown): HooklineError =>
  new HooklineError("unavailable", message, { cause })
