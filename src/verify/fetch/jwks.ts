import { Buffer } from "node:buffer"
import type { FetchImplementation, JSONWebKeySet } from "jose"
import { steadyMs } from "../../clock/clock.ts"
import { RecentFailures } from "./recent-failures.ts"
import { fetchBounded } from "../../outgoing/fetch-bounded.ts"
import type { Fetcher } from "./fetcher.ts"

const BOUNDS = { mostBytes: 1024 * 1024, timeoutMs: 5000 }

/**
 * The fetch for jose's remote JWKS: bounded in time and size, with back-off after failures, so that not each token causes a
 * fetch. (jose itself limits fetches to one at a time.)
 */
export function jwksFetch(
  fetcher: Pick<Fetcher, "fetch">,
  nowMs: () => number = steadyMs,
): FetchImplementation {
  const backOff = new RecentFailures<Error>(1)
  return async (url, { headers }) => {
    const before = backOff.reason(url, nowMs())
    if (before !== undefined) throw before
    try {
      const { status, bytes } = await fetchBounded(fetcher, url, { ...BOUNDS, headers })
      if (status !== 200) throw new Error(`HTTP ${status} from ${new URL(url).host}`)
      const { createLocalJWKSet } = await import("jose")
      // throws if it is not a JWKS
      createLocalJWKSet(JSON.parse(Buffer.from(bytes).toString()) as JSONWebKeySet)
      backOff.succeeded(url)
      return new Response(bytes)
    } catch (error) {
      backOff.failed(url, error as Error, nowMs())
      throw error
    }
  }
}
