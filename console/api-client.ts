import { signal } from "@preact/signals"
import type { Caller } from "./api.ts"
import { sentence } from "./format.ts"

/** Whether the server wants a token: the sign-in form is shown. */
export const isSignedOut = signal(false)
/** Counts sign-ins: who was refused before asks again. */
export const sessions = signal(0)

/** Whether the caller's token may act; what acts is disabled where it may not. */
export const mayAct = signal(true)

/** Asks what the token may. The live stream reports what fails. */
export const askCaller = (): Promise<void> =>
  get<Caller>("session").then(
    (caller) => void (mayAct.value = caller.may_act),
    () => undefined,
  )

/** Why a request to the admin API did not get what it wanted. */
export class RequestFailure extends Error {
  /** The HTTP status; 0: no answer. */
  readonly status: number
  /** What to do about it, or more about what happened. */
  readonly detail: string | undefined

  constructor(status: number, title: string, detail?: string) {
    super(title)
    this.status = status
    this.detail = detail
  }
}

type Query = { readonly [name: string]: string | number | undefined }

/** `/api/records?topic=payments`; what is undefined or empty is left out. */
export function apiUrl(path: string, query: Query = {}): string {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== "")
  const search = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString()
  return `/api/${path}${search && `?${search}`}`
}

/** @throws RequestFailure */
export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  request<T>("GET", apiUrl(path, query), undefined, signal)

/** @throws RequestFailure */
export const post = <T>(path: string, body: unknown = {}): Promise<T> =>
  request<T>("POST", apiUrl(path), body)

/** @throws RequestFailure */
export const remove = (path: string): Promise<void> => request("DELETE", apiUrl(path))

async function request<T>(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await fetch(url, {
    method,
    signal: signal ?? null,
    ...(body !== undefined && {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    throw new RequestFailure(0, "Hookline does not answer", "The page goes on by itself when it is back.")
  })
  if (!response.ok) throw await errorOf(response)
  return (response.status === 204 ? undefined : await response.json()) as T
}

/** A refusal as an RequestFailure; a 401 shows the sign-in form besides. */
export async function errorOf(response: Response): Promise<RequestFailure> {
  if (response.status === 401) isSignedOut.value = true
  const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json") ?? false
  const problem = isProblem ? ((await response.json()) as { title?: string; detail?: string }) : {}
  // the title is that of the status: the detail says what happened and what to do
  const words = problem.detail === undefined ? problem.title : sentence(problem.detail)
  return new RequestFailure(response.status, words ?? `Answered ${response.status}`)
}
