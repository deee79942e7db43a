import { HooklineError } from "../errors.ts"
import type { Receipt } from "./record.ts"

/**
 * The reasons of refusals by Hookline's own steps, apart from each 503 and 401. Each has a section in docs/errors.md, as have
 * all others.
 */
export const STEP_REASONS = [
  "empty_body",
  "invalid_utf8",
  "invalid_charset",
  "unknown_charset",
  "invalid_json",
  "not_an_object",
  "form_body",
  "schema_mismatch",
  "duplicate_member",
  "invalid_form",
  "duplicate_field",
  "invalid_json_field",
  "too_many_fields",
  "too_many_items",
  "record_too_large",
  "wrong_verify_token",
  "origin_not_allowed",
  "sns_wrong_url",
] as const

export type StepReason = (typeof STEP_REASONS)[number]

/** The event is durably in the broker's log. */
export class Accepted {
  readonly kind = "accepted"
  readonly receipt: Receipt

  constructor(receipt: Receipt) {
    this.receipt = receipt
  }
}

/** A processor dropped the event. The sender gets the answer for accepted events; nothing is published. */
export class Dropped {
  readonly kind = "dropped"
  /** A short fixed word for metrics and logs, such as `invalid_json`. */
  readonly reason: string
  /** Details for the log. */
  readonly detail: string | undefined
  /** Whether the body is invalid, and so a dead letter where those are kept. */
  readonly isInvalid: boolean
  /** Whether the configuration asks for it: logged at debug. */
  readonly isRoutine: boolean

  constructor(reason: string, detail?: string, more: { isInvalid?: boolean; isRoutine?: boolean } = {}) {
    this.reason = reason
    this.detail = detail
    this.isInvalid = more.isInvalid ?? false
    this.isRoutine = more.isRoutine ?? false
  }
}

/** The event is refused with an error answer; nothing is published. */
export class Rejected {
  readonly kind = "rejected"
  /** HTTP status of the answer, 400 to 599. */
  readonly status: number
  /** A short fixed word for metrics and logs, such as `invalid_json`. */
  readonly reason: string
  /** A sentence for the sender. Names no broker, file or secret. */
  readonly detail: string
  /** Details for the log, never sent. */
  readonly logDetail: string | undefined
  readonly headers: { readonly [name: string]: string } | undefined
  /** Whether the answer has no body, for senders that accept none. */
  readonly bodiless: boolean

  constructor(
    status: number,
    reason: string,
    detail: string,
    more: {
      logDetail?: string | undefined
      headers?: { readonly [name: string]: string } | undefined
      bodiless?: boolean
    } = {},
  ) {
    if (!(status >= 400 && status <= 599))
      throw new HooklineError(
        "internal",
        `new Rejected(${status}, …): its status is 400 to 599; Dropped answers as if accepted`,
      )
    this.status = status
    this.reason = reason
    this.detail = detail
    this.logDetail = more.logDetail
    this.headers = more.headers
    this.bodiless = more.bodiless ?? false
  }
}

/** The refusal of a body. @param problem follows "The body " */
export const refusedBody = (reason: StepReason, problem: string, status = 400): Rejected =>
  new Rejected(status, reason, `The body ${problem}.`)

/** The request was not an event but a question, such as a provider's handshake; nothing is published. */
export class Answered {
  readonly kind = "answered"
  /** A short fixed word for metrics and logs, such as `slack_url_verification`. */
  readonly reason: string
  readonly status: number
  readonly body: string
  readonly headers: { readonly [name: string]: string }
  /** Whether the configuration asks for it: logged at debug. */
  readonly isRoutine: boolean

  constructor(
    reason: string,
    answer: {
      status?: number
      body?: string
      headers?: { readonly [name: string]: string }
      isRoutine?: boolean
    } = {},
  ) {
    this.reason = reason
    this.status = answer.status ?? 200
    this.body = answer.body ?? ""
    this.headers = answer.headers ?? {}
    this.isRoutine = answer.isRoutine ?? false
  }
}

/** An outcome before publishing. */
export type Ended = Dropped | Rejected | Answered

/** The end of an event. */
export type Outcome = Accepted | Ended

/** The answer to a request before its body is read; undefined: read the body. */
export type Admission = Rejected | Answered | undefined

/** Picks the outcome that answers the sender: a refusal that says nothing of the event itself, else another one, else the first. */
export function decisive(outcomes: readonly (Accepted | Rejected)[]): Accepted | Rejected | undefined {
  const refusals = outcomes.filter((it) => it.kind === "rejected")
  return refusals.find((it) => isForAll(it)) ?? refusals[0] ?? outcomes[0]
}

/** Whether it says nothing of the one event, and the sender sends it again. */
export const isForAll = ({ status }: { readonly status: number }): boolean => status >= 500
