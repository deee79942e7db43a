import type { Handler } from "../pipeline/compose.ts"
import type { PublicUrl } from "./public-url.ts"
import type { RateLimit } from "./admission/rate-limit.ts"
import type { ListenerTls } from "./tls.ts"
import type { UnverifiedLimit } from "../addresses/unverified-limit.ts"

/** A pipeline's address and limits. Lengths are in bytes. */
export interface Route {
  readonly pipeline: string
  readonly host: string
  readonly port: number
  /** Exact, or a prefix when it ends in `/*`. */
  readonly path: string
  readonly maxBodyBytes: number
  /** Lower-case media types, without parameters; undefined: any. */
  readonly contentTypes: readonly string[] | undefined
  /** Tests the sender's address, undefined: that is not known yet. Absent: any may send. */
  readonly allows: ((address: string) => boolean | undefined) | undefined
  /** Why it accepts no events now, for readiness; undefined: it does, as far as the source knows. */
  readonly problem?: (() => string | undefined) | undefined
  /** Tests a proxy's address; undefined: none is trusted. */
  readonly trustsProxy: ((address: string) => boolean) | undefined
  /** undefined: derived from the request and trusted proxies. */
  readonly publicUrl?: PublicUrl | undefined
  /** undefined: plain HTTP. */
  readonly tls: ListenerTls | undefined
  /** Limit of all events; where the pipeline verifies senders, of verified ones. */
  readonly rateLimit?: RateLimit | undefined
  /** Limit of each sender's unverified requests; no effect where the pipeline does not verify senders. */
  readonly unverifiedLimit?: UnverifiedLimit | undefined
  /** These limits as they are configured, for the log: `rate_limit = 5, rate_burst = 5`. */
  readonly limits?: { readonly rate: string; readonly unverified: string } | undefined
  /** The milliseconds that an event may take to be published; the limit of every wait. */
  readonly deliveryTimeoutMs: number
  /** The answer for an accepted or dropped event. */
  readonly response: {
    readonly status: number
    readonly body: string
    readonly contentType: string | undefined
  }
  /** The status for GET and HEAD that the handler does not answer; undefined: 405 for GET, 200 for HEAD. */
  readonly probeStatus?: number | undefined
  readonly handler: Handler
}
