import { HooklineError } from "../errors.ts"
import { fetchFailure, proxiedFetch } from "../outgoing/proxied-fetch.ts"
import { ApiError, problemOf } from "./api/problem.ts"

/** How long another process has for an answer that changes nothing. */
export const ANSWER_MS = 1000
/** And for an action: a sent event waits for its acknowledgement. */
const ACTION_MS = 60_000

/** The admin API of another process, whose answers are merged with those of this one. */
export class AdminClient {
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  /**
   * The JSON that it answers.
   *
   * @param path after `/api/`
   * @throws ApiError its problem; HooklineError `unavailable`: it does not answer, or not in time
   */
  async ask<T>(path: string, method = "GET", body?: unknown): Promise<T> {
    const response = await this.fetch(`/api/${path}`, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      }),
    })
    if (response.status === 204) return undefined as T
    const answer: unknown = await response.json().catch((error: unknown) => failed(error))
    if (response.ok) return answer as T
    throw new ApiError(response.status, String((answer as { detail?: string }).detail))
  }

  /** @throws HooklineError `unavailable` */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { Authorization: `Bearer ${this.#token}`, "Accept-Encoding": "identity", ...init.headers }
    const signal = AbortSignal.timeout((init.method ?? "GET") === "GET" ? ANSWER_MS : ACTION_MS)
    return proxiedFetch(this.#url + path, {
      ...init,
      headers: headers as { [name: string]: string },
      redirect: "manual",
      proxy: false,
      signal,
    }).catch(failed)
  }
}

function failed(cause: unknown): never {
  throw new HooklineError("unavailable", `no answer: ${fetchFailure(cause)}`, { cause })
}

/** In place of what a process has no answer to, or none in time. @throws a fault */
export function unanswered(error: unknown): undefined {
  if (problemOf(error) === undefined) throw error
}
