import { createLocalJWKSet, type FetchImplementation, type JSONWebKeySet } from "jose"
import { steadyMs } from "../steady-clock.ts"
import { BackOff } from "./back-off.ts"
import type { Outside } from "./family.ts"
import { fetchBounded } from "./fetch-bounded.ts"

const BOUNDS = { mostBytes: 1024 * 1024, timeoutMs: 5000 }

/**
 * Makes what jose fetches a set of keys with: a bounded answer in a bounded time, and after a failure none for a while, for
 * each token would else cause a fetch. (That one fetch at a time is enough, jose sees to.)
 */
export function jwksFetch(
  outside: Pick<Outside, "fetch">,
  nowMs: () => number = steadyMs,
): FetchImplementation {
  const backOff = new BackOff<Error>(1)
  return async (url, { headers }) => {
    const before = backOff.reason(url, nowMs())
    if (before !== undefined) throw before
    try {
      const { status, bytes } = await fetchBounded(outside, url, { ...BOUNDS, headers })
      if (status !== 200) throw new Error(`${new URL(url).host} answered ${status}`)
      // throws for what is no set of keys
      createLocalJWKSet(JSON.parse(Buffer.from(bytes).toString()) as JSONWebKeySet)
      backOff.succeeded(url)
      return new Response(bytes)
    } catch (error) {
      backOff.failed(url, error as Error, nowMs())
      throw error
    }
  }
}
