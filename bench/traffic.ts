/** What one run of load saw. Latencies in milliseconds. */
export interface Load {
  requests: number
  seconds: number
  p50: number
  p99: number
  p999: number
  /** The longest, where the load generator tells. */
  longest?: number
}

/**
 * How requests come. In a closed loop each of so many connections sends its next request when the last one was
 * answered. In an open loop so many requests come every second whatever the answers do, and a latency counts from the
 * moment that the request was due, so that those which a slow answer kept back are not left out.
 */
export type Arrivals = { readonly connections: number } | { readonly rate: number }

export interface Traffic {
  readonly body: string
  readonly arrivals: Arrivals
  /** Beside the content type. */
  readonly headers: Headers
  /** How long; a whole number. */
  readonly seconds: number
  /** Posted to in turn, in place of the URL's own path; in a closed loop alone. */
  readonly paths?: readonly string[] | undefined
  /** Each request has one of so many keys in the header X-Key, in turn; in a closed loop alone. */
  readonly keys?: number | undefined
}
