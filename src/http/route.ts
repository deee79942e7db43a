import type { Admission, Event, Outcome, RequestInfo } from "../event.ts"
import type { PublicUrl } from "../verify/public-url.ts"
import type { RateLimit } from "./rate-limit.ts"
import type { UnverifiedLimit } from "./unverified-limit.ts"

/** Where a pipeline's webhooks come in and what the server answers for it. Lengths are in bytes. */
export interface Route {
  /** Id of the pipeline, for metrics and logs. */
  readonly pipeline: string
  readonly host: string
  readonly port: number
  /** Exact, or a prefix when it ends in `/*`. */
  readonly path: string
  readonly maxBodyBytes: number
  /** Lower-case media types, without parameters; undefined: any. */
  readonly contentTypes: readonly string[] | undefined
  /** Tests the sender's address; undefined: any may send. */
  readonly allows: ((address: string) => boolean) | undefined
  /** Tells a proxy whose X-Forwarded-For counts by its address; undefined: none. */
  readonly trustsProxy: ((address: string) => boolean) | undefined
  /** Where senders believe to send to; undefined: what the request and trusted proxies say. */
  readonly publicUrl?: PublicUrl | undefined
  readonly tls:
    | { readonly certificate: string; readonly key: string; readonly clientCa: string | undefined }
    | undefined
  /** Of the requests whose bodies are about to be read; undefined: there is none, or the pipeline sees to it. */
  readonly rateLimit?: RateLimit | undefined
  /** Of each sender's requests that are not verified; undefined: senders are not verified. */
  readonly unverifiedLimit?: UnverifiedLimit | undefined
  /** How long an event may take to be published; no request is to wait longer than that. In milliseconds. */
  readonly deliveryTimeoutMs: number
  /** The answer for an accepted, dropped or duplicate event. */
  readonly response: {
    readonly status: number
    readonly body: string
    readonly contentType: string | undefined
  }
  /** Judges a request before a byte of its body is read, and answers those of `methods`; it counts and logs them. */
  readonly admit?: ((request: RequestInfo) => Admission | Promise<Admission>) | undefined
  /** Methods beside POST whose requests `admit` may answer. */
  readonly methods?: readonly string[]
  readonly handle: (event: Event) => Promise<Outcome>
}
