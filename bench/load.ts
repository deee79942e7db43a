import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { postByAutocannon } from "./autocannon.ts"
import { postByOha } from "./oha.ts"
import { hasWrk, postByWrk } from "./wrk.ts"

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
  /** Posted to in turn, in place of the URL's own path; in a closed loop by wrk alone. */
  readonly paths?: readonly string[]
  /** Each request has one of so many keys in the header X-Key, in turn; in a closed loop by wrk alone. */
  readonly keys?: number
}

/**
 * Posts a body again and again: in a closed loop by wrk where it is installed, else by autocannon; in an open loop by
 * oha.
 *
 * @throws Error when an answer was not 2xx or a connection failed: such a run measures nothing
 */
export async function post(url: string, traffic: Traffic): Promise<Load> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-load-"))
  try {
    const bodyFile = join(folder, "body.json")
    await Bun.write(bodyFile, traffic.body)
    const { arrivals } = traffic
    if ("rate" in arrivals) return await postByOha(url, { ...traffic, rate: arrivals.rate, bodyFile })
    const closed = { ...traffic, connections: arrivals.connections, bodyFile, folder }
    return await (hasWrk ? postByWrk : postByAutocannon)(url, closed)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface ClosedLoop extends Traffic {
  readonly connections: number
  readonly bodyFile: string
  /** For files that are needed meanwhile. */
  readonly folder: string
}
