import type { Receipt } from "./record.ts"

/** What is known of a webhook call beside its body. */
export interface RequestInfo {
  readonly method: string
  /** Path of the request target, as sent, without the query. */
  readonly path: string
  /** Query of the request target, as sent, without the `?`; empty when there is none. */
  readonly query: string
  /** The URL that the sender sent to, as far as the configuration and trusted proxies tell, see verify/public-url.ts. */
  readonly url: string
  readonly headers: Headers
  /**
   * Address of the sender: the connection's, or the one that a trusted proxy names. `unknown` when the proxy names none, or
   * when it is first asked for after the sender has gone.
   */
  readonly remoteAddress: string
}

/** One webhook call on its way through a pipeline. */
export interface Event {
  /** The body's bytes: as received and decompressed at first, then as the processors leave them. */
  body: Uint8Array
  /** When the request's header section had arrived, in milliseconds since 1970. */
  readonly receivedAtMs: number
  /** When the whole request had arrived, by the steady clock: what the delivery takes counts from here. */
  readonly arrivedMs: number
  readonly request: RequestInfo
  /** Whether the body must be read as a form and as nothing else: a signature covers the form's parameters alone. */
  isForm?: boolean
  /** Whether a Verifier in mode observe let it pass unverified: anybody may have sent it. */
  isUnverified?: boolean
}

/** The event is durably in the broker's log. */
export class Accepted {
  readonly kind = "accepted"
  readonly receipt: Receipt

  constructor(receipt: Receipt) {
    this.receipt = receipt
  }
}

/** A processor left the event out. The sender is answered as if it had been accepted; nothing is published. */
export class Dropped {
  readonly kind = "dropped"
  /** A short fixed word for metrics and logs, such as `invalid_json`. */
  readonly reason: string
  /** What a person should know beside the reason; goes to the log only. */
  readonly detail: string | undefined
  /** Whether the body was not what it should be, so that it is a dead letter where those are kept. */
  readonly isInvalid: boolean

  constructor(reason: string, detail?: string, more: { isInvalid?: boolean } = {}) {
    this.reason = reason
    this.detail = detail
    this.isInvalid = more.isInvalid ?? false
  }
}

/** The event is refused with an error answer; nothing is published. */
export class Rejected {
  readonly kind = "rejected"
  /** HTTP status of the answer, 4xx or 5xx. */
  readonly status: number
  /** A short fixed word for metrics and logs, such as `invalid_json`. */
  readonly reason: string
  /** What the sender is told, in a sentence. Names no broker, file or secret. */
  readonly detail: string
  /** What a person who reads the log should know beside the reason, never sent. */
  readonly logDetail: string | undefined
  readonly headers: { readonly [name: string]: string } | undefined
  /** Whether the answer has no body, for senders that take none. */
  readonly bodiless: boolean

  constructor(
    status: number,
    reason: string,
    detail: string,
    more: {
      logDetail?: string | undefined
      headers?: { readonly [name: string]: string }
      bodiless?: boolean
    } = {},
  ) {
    this.status = status
    this.reason = reason
    this.detail = detail
    this.logDetail = more.logDetail
    this.headers = more.headers
    this.bodiless = more.bodiless ?? false
  }
}

/** The request was no event but a question of the provider's, such as a handshake; nothing is published. */
export class Answered {
  readonly kind = "answered"
  /** A short fixed word for metrics and logs, such as `slack_url_verification`. */
  readonly reason: string
  readonly status: number
  readonly body: string
  readonly headers: { readonly [name: string]: string }

  constructor(
    reason: string,
    answer: { status?: number; body?: string; headers?: { readonly [name: string]: string } } = {},
  ) {
    this.reason = reason
    this.status = answer.status ?? 200
    this.body = answer.body ?? ""
    this.headers = answer.headers ?? {}
  }
}

/** What ends an event's way before it is published. */
export type Ended = Dropped | Rejected | Answered

export type Outcome = Accepted | Ended

/** What a request is answered with before its body is read; undefined: its body is to be read. */
export type Admission = Rejected | Answered | undefined

/**
 * One step of a pipeline: gives the event on (changed or not), or ends its way with an outcome. Expected outcomes are
 * returned; what it throws is a fault and is answered 500. A step that answers at once costs no promise.
 *
 * A plain function is one. A step that has a say beside its turn has the other members too (`Object.assign`).
 */
export interface Processor {
  (event: Event): Event | Ended | Promise<Event | Ended>
  /** Judges a request before a byte of its body is read. */
  readonly admit?: ((request: RequestInfo) => Admission | Promise<Admission>) | undefined
  /** Methods beside POST whose requests `admit` may answer. */
  readonly methods?: readonly string[]
  /**
   * Told, by its request, of each event whose way has ended: published, or in any other way, faults too. It may be one
   * that ended before this step. The sender is answered when what this returns has resolved; what it throws is logged.
   *
   * @param outcome what the sender is told; undefined: a fault
   */
  readonly settled?:
    | ((request: RequestInfo, published: boolean, outcome: Outcome | undefined) => void | Promise<void>)
    | undefined
  /** What accepted events are answered with where the source has no body of its own. */
  readonly response?: { readonly body: string; readonly contentType: string } | undefined
  /** Whether it lets requests of verified senders alone pass. A component's steps have it from their component. */
  readonly verifies?: boolean
}

/** The end of a pipeline: resolves with the outcome, Accepted only when the event is durably published. */
export interface Publisher {
  (event: Event): Promise<Accepted | Rejected>
  /**
   * Publishes an event that ended otherwise as a dead letter, with the outcome's reason; undefined: dead letters are not
   * kept. Given those of verified senders alone, with the body as it was received.
   */
  readonly deadLetter?:
    | ((event: Event, outcome: Rejected | Dropped) => Promise<Accepted | Rejected>)
    | undefined
}
