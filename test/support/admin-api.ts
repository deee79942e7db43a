import {
  startHookline,
  temporaryFolder,
  type RunningHookline,
  type Started,
  type TemporaryFolder,
} from "./hookline.ts"
import { startInProcess } from "./in-process.ts"

/** A Hookline, and what its admin API answers. */
export class AdminApi<S extends Started = Started> implements AsyncDisposable {
  readonly running: S
  readonly #folder: TemporaryFolder

  private constructor(running: S, folder: TemporaryFolder) {
    this.running = running
    this.#folder = folder
  }

  static async start(
    configuration: string,
    env: { [name: string]: string } = {},
  ): Promise<AdminApi<RunningHookline>> {
    const folder = temporaryFolder()
    return new AdminApi(await startHookline(configuration, { folder: folder.path, env }), folder)
  }

  /** As `start`, in this process. */
  static async startInProcess(configuration: string): Promise<AdminApi> {
    const folder = temporaryFolder()
    return new AdminApi(await startInProcess(configuration, { folder: folder.path }), folder)
  }

  get folder(): string {
    return this.#folder.path
  }

  /** The answer of `/api/<path>`. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.running.adminUrl}/api/${path}`, init)
  }

  /** What it answers. @throws where that is an error */
  async get<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await this.fetch(path, init)
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (response.status === 204 ? undefined : await response.json()) as T
  }

  /** What it answers to JSON. */
  post<T>(path: string, body?: unknown, method = "POST"): Promise<T> {
    return this.get<T>(path, asJson(body, method))
  }

  /** The status of its answer to JSON, and the detail of the problem. */
  async refused(path: string, body?: unknown, method = "POST"): Promise<readonly [number, string]> {
    const response = await this.fetch(path, asJson(body, method))
    const { detail } = (await response.json()) as { detail: string }
    return [response.status, detail]
  }

  /** Posts an event; its status. */
  async send(pipeline: string, headers: { readonly [name: string]: string }, body: string): Promise<number> {
    const { status } = await fetch(this.running.urls[pipeline]!, { method: "POST", body, headers })
    return status
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.running.stop()
    this.#folder[Symbol.dispose]()
  }
}

const asJson = (body: unknown, method: string): RequestInit => ({
  method,
  ...(body !== undefined && {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }),
})
