import { atOnce } from "../../src/clock/slices.ts"
import { Writable } from "node:stream"
import { pino } from "pino"
import type { Event } from "../../src/pipeline/event.ts"
import { Accepted } from "../../src/pipeline/outcome.ts"
import type { Handler } from "../../src/pipeline/compose.ts"
import type { Route } from "../../src/http/route.ts"
import { Servers, type Limits, type ServerOptions } from "../../src/http/server.ts"
import { Metrics } from "../../src/telemetry/metrics.ts"
import { RequestLog } from "../../src/telemetry/request-log.ts"
import { scraped } from "./scraped.ts"

export interface Serving {
  /** URL of the first route: `http://127.0.0.1:41234`. */
  readonly url: string
  readonly port: number
  readonly servers: Servers
  /** The events that the routes' own handler was given. */
  readonly events: readonly Event[]
  /** The log's lines so far. */
  readonly log: readonly { readonly [key: string]: unknown }[]
  /** The lines of the metrics that tell about requests and events, without the timestamps. */
  counts(): Promise<string[]>
}

const COUNTED = /^hookline_(http_requests|events|unanswered_requests|untrusted_proxy_requests)_total.* [^0]/

/** What of a route, and of its pipeline, is not as usual. */
export type GivenRoute = Partial<Route> & Partial<Omit<Handler, "response">>

/** Starts the HTTP side with a pipeline that keeps each event and accepts it; stopped when the block ends. */
export function serve(
  routes: GivenRoute | readonly GivenRoute[] = {},
  options: Partial<ServerOptions & Limits> = {},
): Serving & AsyncDisposable {
  const events: Event[] = []
  const log: { [key: string]: unknown }[] = []
  const lines = new Writable({
    write(line, _encoding, done) {
      log.push(JSON.parse(String(line)) as { [key: string]: unknown })
      done()
    },
  })
  const metrics = new Metrics()
  const all = [routes]
    .flat()
    .map(({ handle, admit, methods = [], verifiesSenders = false, quickCheck, ...route }): Route => ({
      pipeline: "hooks",
      host: "127.0.0.1",
      port: 0,
      path: "/webhook",
      maxBodyBytes: 1024 * 1024,
      contentTypes: undefined,
      allows: undefined,
      trustsProxy: undefined,
      tls: undefined,
      deliveryTimeoutMs: 200,
      response: { status: 200, body: "", contentType: undefined },
      handler: {
        admit,
        methods,
        verifiesSenders,
        quickCheck,
        response: undefined,
        outcomes: [],
        handle:
          handle ??
          ((event) => {
            events.push(event)
            return Promise.resolve(new Accepted({ partition: 0, offset: events.length - 1 }))
          }),
      },
      ...route,
    }))
  const given: ServerOptions & Limits = {
    maxInFlightBytes: 64 * 1024 * 1024,
    bodyTimeoutMs: 10_000,
    log: new RequestLog(pino({ level: "debug", base: null, timestamp: false }, lines)),
    metrics: (id) => metrics.pipeline(id),
    ...options,
  }
  const servers = new Servers(given)
  void atOnce(servers.prepare(all, given, undefined))().commit()
  const url = servers.urls[0]!
  return {
    url,
    port: Number(new URL(url).port),
    servers,
    events,
    log,
    counts: async () => {
      const text = await scraped(metrics)
      return text.split("\n").filter((line) => COUNTED.test(line))
    },
    [Symbol.asyncDispose]: () => servers.drain(0),
  }
}

/** A body that fetch sends without a declared length. */
export function inChunks(chunks: readonly (string | Uint8Array)[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Buffer.from(chunk))
      controller.close()
    },
  })
}
