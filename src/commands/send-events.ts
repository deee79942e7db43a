import { setTimeout } from "node:timers/promises"
import { readJson } from "../json/read.ts"
import { proxiedFetch } from "../outgoing/proxied-fetch.ts"
import type { Sendable } from "../verify/verification.ts"

/** How many events to post, and how fast. */
export interface SendPace {
  readonly count: number
  /** Events per second; undefined: as fast as responses arrive. */
  readonly ratePerS?: number | undefined
  readonly concurrency: number
  readonly timeoutMs: number
}

export type SendResults = Awaited<ReturnType<typeof sendEvents>>

/**
 * Posts events. Responses other than 2xx and network errors are counted, not thrown; redirects are not followed.
 *
 * @param next makes the event of a number from 1
 * @param signal stops before the next event
 */
export async function sendEvents(
  next: (number: number) => Promise<Sendable>,
  { count, ratePerS, concurrency, timeoutMs }: SendPace,
  {
    signal,
    onAnswer,
    tls,
  }: { signal: AbortSignal; onAnswer: () => void; tls?: BunFetchRequestInitTLS | undefined },
) {
  /** Counts by status or code of a network error. */
  const outcomes = new Map<number | string, number>()
  /** Milliseconds from each request to the end of its response, in the end ascending. */
  const latenciesMs: number[] = []
  /** The first response other than 2xx, or the first network error. */
  let firstError: string | undefined
  /** What that one says, where it is a problem document (RFC 9457). */
  let problem: { readonly status: number; readonly detail: string } | undefined
  let number = 0
  const startedMs = performance.now()

  const post = async ({ method, url, headers, body }: Sendable): Promise<void> => {
    const postedMs = performance.now()
    let outcome: number | string
    try {
      const answer = await proxiedFetch(url, {
        method,
        headers,
        body: new Uint8Array(body),
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
        ...(tls !== undefined && { tls }),
      })
      const text = await answer.text()
      outcome = answer.status
      if (!answer.ok && firstError === undefined) {
        firstError = `${answer.status}: ${text.slice(0, MOST_SHOWN).trim() || "(no body)"}`
        problem = problemIn(answer, text)
      }
    } catch (error) {
      const { name, code, message } = error as Error & { code?: string | number }
      outcome = typeof code === "string" ? code : name
      const { host, port, protocol } = new URL(url)
      const address = port === "" ? `${host}:${protocol === "https:" ? 443 : 80}` : host
      firstError ??=
        outcome === "ECONNREFUSED"
          ? `nothing listens on ${address}: is hookline running?`
          : message.startsWith(`${outcome}`)
            ? message
            : `${outcome}: ${message}`
    }
    latenciesMs.push(performance.now() - postedMs)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    onAnswer()
  }
  const work = async (): Promise<void> => {
    while (number < count && !signal.aborted) {
      const mine = ++number
      if (ratePerS !== undefined) {
        const dueMs = startedMs + ((mine - 1) * 1000) / ratePerS
        if (!(await waitUntil(dueMs, signal))) return
      }
      await post(await next(mine))
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, work))
  latenciesMs.sort((a, b) => a - b)
  return { outcomes, latenciesMs, elapsedMs: performance.now() - startedMs, firstError, problem }
}

/** What a problem document says. */
function problemIn(
  { status, headers }: Response,
  text: string,
): { status: number; detail: string } | undefined {
  if (headers.get("content-type") !== "application/problem+json") return undefined
  const { detail } = Object(readJson(Buffer.from(text))) as { detail?: unknown }
  return typeof detail === "string" ? { status, detail } : undefined
}

const MOST_SHOWN = 500

export function allAccepted({ outcomes }: SendResults): boolean {
  return [...outcomes.keys()].every((it) => typeof it === "number" && it >= 200 && it < 300)
}

/** Resolves at a time of `performance.now()`; false when it was aborted before. */
async function waitUntil(dueMs: number, signal: AbortSignal): Promise<boolean> {
  const delayMs = dueMs - performance.now()
  if (delayMs <= 0) return !signal.aborted
  return setTimeout(delayMs, true, { signal }).catch(() => false)
}
