import { within } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import { fetchFailure, proxiedFetch } from "../outgoing/proxied-fetch.ts"
import { toHeaderValue } from "../headers.ts"
import { ApiError, problemOf } from "./api/problem.ts"
import type { CaptureExplanation } from "./api/shapes.ts"
import { CA_VARIABLE } from "./client-tls.ts"

/** How long another replica has for an answer that changes nothing. */
export const ANSWER_MS = 1000
/**
 * How long it has for an action, in which an event that is sent waits for the broker's acknowledgement, and for an explanation,
 * which tries hundreds of signatures of a body.
 */
const ACTION_MS = 60_000

/** A header of requests to another replica, which answers only for itself: replicas do not ask in circles. */
const ALONE = "hookline-alone"
export const isToAnswerAlone = ({ headers }: Request): boolean => headers.has(ALONE)

interface Row {
  readonly id: string
  readonly replica?: string
}

/** The admin API of another replica, whose answers are merged with those of this one. */
export class AdminClient {
  /** Its address, `host:port`. */
  readonly replica: string
  readonly #url: string
  readonly #token: string
  readonly #tls: BunFetchRequestInitTLS | undefined

  /** @param url `https://host:port` */
  constructor(url: string, token: string, tls?: BunFetchRequestInitTLS) {
    this.replica = url.slice(url.indexOf("://") + "://".length)
    this.#url = url
    this.#token = token
    this.#tls = tls
  }

  /**
   * The JSON that it answers.
   *
   * @param path after `/api/`
   * @throws ApiError its problem; HooklineError `unavailable`: it does not answer, or not in time
   */
  async ask<T>(path: string, method = "GET", body?: unknown, withinMs?: number): Promise<T> {
    const content =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }
    const response = await this.#fetch(`/api/${path}`, { method, ...content }, withinMs)
    if (response.status === 204) return undefined as T
    const answer: unknown = await response.json().catch((error: unknown) => failed(error))
    if (response.ok) return answer as T
    const { detail = `HTTP ${response.status}` } = Object(answer) as { detail?: string }
    throw new ApiError(response.status, detail)
  }

  /** Why a captured request was verified or refused. @param path of the request @throws as `ask` */
  explain(path: string): Promise<CaptureExplanation> {
    return this.ask<CaptureExplanation>(`${path}/explanation`, "GET", undefined, ACTION_MS)
  }

  /** Requests an action. @returns whether it was done within a second; a process that stalls does it later */
  async does(path: string, method: string, body?: unknown): Promise<boolean> {
    const doing = this.ask(path, method, body).then(() => true, unanswered)
    return (await within(ANSWER_MS, doing, () => false)) ?? false
  }

  /** The rows of a list; none if it does not answer. */
  async rows<T extends Row>(path: string): Promise<T[]> {
    const rows = await this.ask<unknown>(path).catch(unanswered)
    return Array.isArray(rows) ? (rows as T[]).map((it) => this.named(it)) : []
  }

  /** Adds the replica's address to a row, and to the row's id. */
  named<T extends Row>(row: T): T {
    const { replica } = this
    return { ...row, id: `${row.id}@${replica}`, replica }
  }

  /** @throws HooklineError `unavailable` */
  async #fetch(
    path: string,
    init: RequestInit,
    withinMs = (init.method ?? "GET") === "GET" ? ANSWER_MS : ACTION_MS,
  ): Promise<Response> {
    const headers = {
      Authorization: toHeaderValue(`Bearer ${this.#token}`),
      "Accept-Encoding": "identity",
      // its name need not be in its [admin] hosts
      Host: "localhost",
      [ALONE]: "true",
      ...init.headers,
    }
    return proxiedFetch(this.#url + path, {
      ...init,
      headers: headers as { [name: string]: string },
      redirect: "manual",
      proxy: false,
      signal: AbortSignal.timeout(withinMs),
      ...(this.#tls !== undefined && { tls: this.#tls }),
    }).catch(failed)
  }
}

function failed(cause: unknown): never {
  throw new HooklineError("unavailable", `no answer: ${fetchFailure(cause, CA_VARIABLE)}`, { cause })
}

/** For requests that another replica refuses or does not answer in time. @throws a fault */
export function unanswered(error: unknown): undefined {
  if (problemOf(error) === undefined) throw error
}

/** A row of another replica, and where its admin API has it. */
export interface RowElsewhere {
  readonly client: AdminClient
  readonly id: string
  readonly path: string
}

/** The row of another replica that an id names; undefined: it names none of these replicas. */
export function rowOfReplica(
  replicas: readonly AdminClient[],
  list: string,
  id: string,
): RowElsewhere | undefined {
  const at = id.indexOf("@")
  const client = at < 0 ? undefined : replicas.find(({ replica }) => replica === id.slice(at + 1))
  const own = id.slice(0, at)
  return client && { client, id: own, path: `${list}/${encodeURIComponent(own)}` }
}
