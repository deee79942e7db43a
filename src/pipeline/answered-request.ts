import type { Event, RequestInfo } from "./event.ts"
import type { Outcome } from "./outcome.ts"

/** A request as it is answered. Request and event are the pipeline's own: to be read in the call, not changed or kept. */
export interface AnsweredRequest {
  /** undefined: no pipeline has its path. */
  readonly pipeline: string | undefined
  readonly request: RequestInfo
  /** undefined: its body was not read. */
  readonly event: Event | undefined
  /** Of the body as received, decompressed; undefined: not read. */
  readonly bytes: number | undefined
  readonly status: number
  /** undefined: a fault. */
  readonly outcome: Outcome | undefined
}

/** Called once for each request, before its answer is sent. An error is logged. */
export type OnAnswer = (answered: AnsweredRequest) => void
