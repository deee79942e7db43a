import { HooklineError } from "../../errors.ts"
import { phraseOf, problemType } from "../../http/answer.ts"

/** An answer of the API that is an error of its caller, or of what it asks. */
export class ApiError extends Error {
  readonly status: number
  readonly headers: { readonly [name: string]: string }

  /** @param detail in a sentence, without secrets */
  constructor(status: number, detail: string, headers: { readonly [name: string]: string } = {}) {
    super(detail)
    this.status = status
    this.headers = headers
  }
}

/** The names of the API's errors: each has a section in docs/errors.md. */
export const API_ERRORS: { readonly [status: number]: string | undefined } = {
  400: "api_bad_request",
  401: "api_unauthorized",
  403: "api_forbidden",
  404: "api_not_found",
  405: "api_method_not_allowed",
  409: "api_conflict",
  413: "api_body_too_large",
  415: "api_content_type",
  429: "api_too_many_tokens",
  503: "api_unavailable",
}

/** A problem document (RFC 9457). */
export function problem(status: number, detail: string, headers: ApiError["headers"] = {}): Response {
  const name = API_ERRORS[status]
  const type = name === undefined ? "about:blank" : problemType(name)
  const body = { type, title: phraseOf(status) ?? "Error", status, detail }
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json" },
  })
}

/** The statuses of errors that are no faults. */
const STATUSES: { readonly [code: string]: number | undefined } = {
  usage: 400,
  no_topic: 404,
  no_log: 404,
  config: 409,
  refused: 403,
  unavailable: 503,
  no_input: 503,
  closing: 503,
}

/** The problem of an expected error; undefined: a fault. */
export function problemOf(error: unknown): Response | undefined {
  if (error instanceof ApiError) return problem(error.status, error.message, error.headers)
  const status = error instanceof HooklineError ? STATUSES[error.code] : undefined
  return status === undefined ? undefined : problem(status, (error as HooklineError).message)
}
