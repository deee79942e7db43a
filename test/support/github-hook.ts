import { createHmac } from "node:crypto"
import { HANG_MS } from "./hang.ts"
import schemas from "./openapi/github.json" with { type: "json" }
import { checkBy } from "./openapi-schema.ts"

/** A delivery as GitHub lists it, without what it adds. */
interface Delivery {
  readonly id: number
  readonly guid: string
  readonly redelivery: boolean
  readonly deliveredAtMs: number
  readonly status: number
  /** When the list has it. */
  readonly listedAtMs: number
}

export const GITHUB_ENDPOINT = "repos/acme/app/hooks/7"
export const GITHUB_SECRET = "obviously-fake-secret"
export const GITHUB_TOKEN = "obviously-fake-token"

const BASE = "/repos/{owner}/{repo}/hooks/{hook_id}"
const checkedHook = checkBy("GitHub", schemas[`GET ${BASE}`])
const checkedList = checkBy("GitHub", schemas[`GET ${BASE}/deliveries`])

/**
 * A repository's webhook on GitHub: delivers events, signed, once, and has the part of the REST API that lists and repeats
 * deliveries. Its answers are checked against GitHub's OpenAPI document. It speaks for api.github.com under its `api`.
 */
export class GitHubHook implements AsyncDisposable {
  readonly deliveries: Delivery[] = []
  readonly requests: string[] = []
  readonly api: string
  url: string
  active = true
  /** The time of day at GitHub, less this machine's. */
  aheadMs = 0
  /** How long ago its deliveries were made, by what it lists. */
  deliveredAgoMs = 0
  pageSize = 100
  /** Whether a redelivery is answered only once it was made. */
  redeliversFirst = false
  /** How much later than its delivery the list has one. */
  listedAfterMs = () => 0
  /** Answers a request in its place. */
  before: (request: Request) => Response | undefined | Promise<Response | undefined> = () => undefined
  /** Whether the list has each delivery twice. */
  doubles = false
  readonly #bodies = new Map<string, string>()
  #server: Bun.Server<undefined>
  #id = 1000

  constructor(url = "http://127.0.0.1:1/webhook") {
    this.url = url
    this.#server = this.#listen(0)
    this.api = `http://127.0.0.1:${this.#server.port}`
  }

  /** Delivers an event once, as GitHub does, whatever the answer. @returns the status */
  async send(guid: string, body = JSON.stringify({ action: "opened", k: guid })): Promise<number> {
    this.#bodies.set(guid, body)
    return this.#deliver(guid, false)
  }

  /** Breaks all connections of its API, and listens again. */
  async restart(): Promise<undefined> {
    const port = this.#server.port!
    await this.#server.stop(true)
    this.#server = this.#listen(port)
  }

  /** The section that reconciles a pipeline with it. */
  section(pipeline = "hooks"): string {
    return `[reconcile:github]
pipeline = ${pipeline}
credentials = ${GITHUB_TOKEN}
endpoint = ${GITHUB_ENDPOINT}
api = ${this.api}`
  }

  /** The events that it sent. */
  get guids(): string[] {
    return [...this.#bodies.keys()]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }

  #listen(port: number): Bun.Server<undefined> {
    return Bun.serve({ hostname: "127.0.0.1", port, fetch: (request) => this.#serve(request) })
  }

  async #deliver(guid: string, redelivery: boolean): Promise<number> {
    const body = this.#bodies.get(guid)!
    const id = this.#id++
    const deliveredAtMs = Date.now() + this.aheadMs - this.deliveredAgoMs
    const signature = createHmac("sha256", GITHUB_SECRET).update(body).digest("hex")
    const headers = {
      "Content-Type": "application/json",
      "X-GitHub-Delivery": guid,
      "X-GitHub-Event": "issues",
      "X-Hub-Signature-256": `sha256=${signature}`,
    }
    const status = await fetch(this.url, {
      method: "POST",
      headers,
      body,
      signal: AbortSignal.timeout(HANG_MS),
    }).then(
      (response) => response.status,
      () => 0,
    )
    const listedAtMs = Date.now() + this.listedAfterMs()
    this.deliveries.push({ id, guid, redelivery, deliveredAtMs, status, listedAtMs })
    return status
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    this.requests.push(`${request.method} ${pathname}`)
    const headers = { Date: new Date(Date.now() + this.aheadMs).toUTCString() }
    const answer = (value: unknown, status = 200, more = {}): Response =>
      Response.json(value, { status, headers: { ...headers, ...more } })
    const instead = await this.before(request)
    if (instead !== undefined) return instead
    if (request.headers.get("authorization") !== `Bearer ${GITHUB_TOKEN}`)
      return answer({ message: "Bad credentials" }, 401)
    const base = `/${GITHUB_ENDPOINT}`
    if (pathname === base && request.method === "PATCH") {
      this.active = ((await request.json()) as { active: boolean }).active
      return answer(this.#hook())
    }
    if (pathname === base) return answer(this.#hook())
    if (pathname === `${base}/deliveries`) return this.#list(searchParams, answer)
    const [, id] = /\/deliveries\/(\d+)\/attempts$/.exec(pathname) ?? []
    const found = this.deliveries.find((it) => String(it.id) === id)
    if (found === undefined || request.method !== "POST") return answer({ message: "Not Found" }, 404)
    const delivered = this.#deliver(found.guid, true)
    if (this.redeliversFirst) await delivered
    return answer({}, 202)
  }

  #list(
    query: URLSearchParams,
    answer: (value: unknown, status?: number, more?: object) => Response,
  ): Response {
    const size = Math.min(this.pageSize, Number(query.get("per_page") ?? 30))
    const before = Number(query.get("cursor")?.slice(2) ?? Number.POSITIVE_INFINITY)
    const nowMs = Date.now()
    const listed = this.deliveries
      .filter(({ id, listedAtMs }) => id < before && listedAtMs <= nowMs)
      .toSorted((a, b) => b.id - a.id)
    const page = listed.slice(0, size)
    const items = page.flatMap((it) => (this.doubles ? [item(it), item(it)] : [item(it)]))
    checkedList(items)
    const next = `${this.api}/${GITHUB_ENDPOINT}/deliveries?per_page=${size}&cursor=v1${page.at(-1)?.id}`
    return answer(items, 200, listed.length > size ? { Link: `<${next}>; rel="next"` } : {})
  }

  #hook(): unknown {
    const last = this.deliveries.at(-1)
    const url = `${this.api}/${GITHUB_ENDPOINT}`
    return checkedHook({
      type: "Repository",
      id: 7,
      name: "web",
      active: this.active,
      events: ["issues", "push"],
      config: { content_type: "json", insecure_ssl: "0", url: this.url },
      updated_at: new Date().toISOString(),
      created_at: new Date().toISOString(),
      url,
      test_url: `${url}/test`,
      ping_url: `${url}/pings`,
      deliveries_url: `${url}/deliveries`,
      last_response: { code: last?.status ?? null, status: "unused", message: null },
    })
  }
}

const item = ({ id, guid, redelivery, deliveredAtMs, status }: Delivery) => ({
  id,
  guid,
  delivered_at: new Date(deliveredAtMs).toISOString(),
  redelivery,
  duration: 0.1,
  status:
    status === 200 ? "OK" : status === 0 ? "failed to connect to host" : `Invalid HTTP Response: ${status}`,
  status_code: status === 0 ? 502 : status,
  event: "issues",
  action: "opened",
  installation_id: null,
  repository_id: 1,
})
