import type { Receipt } from "./record.ts"

/** What is known of a webhook call beside its body. */
export interface RequestInfo {
  readonly method: string
  /** Path of the request target, as sent, without the query. */
  readonly path: string
  /** Query of the request target, as sent, without the `?`; empty when there is none. */
  readonly query: string
  readonly headers: Headers
  /** Address of the sender: the connection's, or the one that a trusted proxy names. */
  readonly remoteAddress: string
}

/** One webhook call on its way through a pipeline. */
export interface Event {
  /** The body's bytes: as received and decompressed at first, then as the processors leave them. */
  body: Uint8Array
  /** When the request's header section had arrived, in milliseconds since 1970. */
  readonly receivedAtMs: number
  readonly request: RequestInfo
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

  constructor(reason: string, detail?: string) {
    this.reason = reason
    this.detail = detail
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

  constructor(
    status: number,
    reason: string,
    detail: string,
    more: { logDetail?: string; headers?: { readonly [name: string]: string } } = {},
  ) {
    this.status = status
    this.reason = reason
    this.detail = detail
    this.logDetail = more.logDetail
    this.headers = more.headers
  }
}

export type Outcome = Accepted | Dropped | Rejected

/**
 * One step of a pipeline: gives the event on (changed or not), or ends its way with an outcome. Expected outcomes are
 * returned; what it throws is a fault and is answered 500. A step that answers at once costs no promise.
 */
export type Processor = (event: Event) => Event | Dropped | Rejected | Promise<Event | Dropped | Rejected>

/** The end of a pipeline: resolves with the outcome, Accepted only when the event is durably published. */
export type Publisher = (event: Event) => Promise<Accepted | Rejected>
