import { CA_VARIABLE } from "../admin/client-tls.ts"
import { misfit, type Shape, type Static } from "../admin/api/shape.ts"
import { Overview } from "./overview.ts"
import { atOnce } from "../clock/slices.ts"
import { readConfigurationFile } from "../config/file/configuration-file.ts"
import { isConfigured } from "../config/file/load.ts"
import { loadForCommand } from "../runtime/load-for-command.ts"
import { formatEndpoint } from "../addresses/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { readJson } from "../json/read.ts"
import { fetchFailure } from "../outgoing/proxied-fetch.ts"
import { planAdmin } from "../runtime/plan/plan-part.ts"
import { toHeaderValue } from "../headers.ts"
import { askAdmin } from "./ask-admin.ts"

/** The admin API of the service that runs with a configuration file. */
export class RunningService {
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
    const { status, value, detail } = await this.ask(path, shape)
    if (value === undefined && status !== 404)
      throw unavailable(`the service at ${this.#address} answered ${path} with ${status}: ${detail}`)
    return value
  }

  /** @param query of the request @throws HooklineError `unavailable` */
  async overview(query = ""): Promise<Overview> {
    const overview = await this.get(`/api/overview${query}`, Overview)
    if (overview !== undefined) return overview
    throw unavailable("the running Hookline has no overview; is it another version?")
  }

  /** What the API answers, or the detail of its problem. @throws HooklineError `unavailable` */
  async ask<T extends Shape>(
    path: string,
    shape: T,
    method = "GET",
    content?: object,
  ): Promise<Answered<Static<T>>> {
    const headers = {
      ...(this.#token !== undefined && { Authorization: toHeaderValue(`Bearer ${this.#token}`) }),
      ...(content !== undefined && { "Content-Type": "application/json" }),
    }
    const body = content === undefined ? {} : { body: JSON.stringify(content) }
    const signal = AbortSignal.timeout(method === "GET" ? TIMEOUT_MS : ACTION_MS)
    const asking = askAdmin(this.#place, path, { method, headers, signal, ...body })
    const answered = asking.then(async (response) => [response, await response.bytes()] as const)
    const [response, bytes] = await answered.catch((error: unknown) => {
      throw unavailable(
        `no Hookline answers at ${this.#address}, ${this.#source} (${fetchFailure(error, CA_VARIABLE)}); does it run, and with this address?`,
        error,
      )
    })
    if (response.status === 401)
      throw unavailable(
        this.#token === undefined
          ? `the service at ${this.#address} requires a token, and [admin] of ${this.#file} has none; name the file that it runs with`
          : `the service at ${this.#address} does not accept the token in [admin] of ${this.#file}; it runs with another file, or has not reloaded this one`,
      )
    const { status } = response
    const value = readJson(bytes)
    if (response.headers.get("content-type")?.startsWith("application/problem+json") === true)
      return { status, value: undefined, detail: String(Object(value).detail) }
    if (!response.ok || value === undefined || misfit(value, shape) !== undefined)
      throw unavailable(
        `what listens on ${this.#address} answered ${path} with ${status}, not as this version of Hookline does: is it another program, or another version?`,
      )
    return { status, value: value as Static<T>, detail: "" }
  }
}

interface Answered<Value> {
  readonly status: number
  /** undefined: it is a problem. */
  readonly value: Value | undefined
  readonly detail: string
}

const TIMEOUT_MS = 10_000
/** An action in another replica has a minute. */
const ACTION_MS = 70_000

export const unavailable = (message: string, cause?: unknown): HooklineError =>
  new HooklineError("unavailable", message, { cause })
