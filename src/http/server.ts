import { HooklineError } from "../errors.ts"
import type { RequestInfo } from "../event.ts"
import type { Logger } from "../telemetry/log.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import { problem, refusal } from "./answer.ts"
import type { Route } from "./route.ts"

export interface ServerOptions {
  /** Bytes of bodies that may be held at once, over all routes. */
  readonly maxInFlightBytes: number
  readonly headerTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly log: Logger
  /** The metrics of a pipeline; the id is empty for requests to no pipeline. */
  readonly metrics: (pipelineId: string) => PipelineMetrics
}

export interface Servers {
  /** Where they listen: `http://127.0.0.1:8080`, in the order of the routes. */
  readonly urls: readonly string[]
  /** Stops accepting, finishes what was accepted, then closes everything, at the latest after the time given. */
  drain(timeoutMs: number): Promise<void>
  inFlight(): { requests: number; bytes: number }
}

/**
 * Listens for webhooks.
 *
 * @throws HooklineError `listen` when a port can't be had; nothing is left open then
 */
export function openServers(routes: readonly Route[], options: ServerOptions): Servers {
  let draining = false
  let requests = 0
  let bytes = 0
  const groups = new Map<string, Route[]>()
  for (const route of routes) {
    const key = `${route.host}:${route.port}`
    groups.set(key, [...(groups.get(key) ?? []), route])
  }
  const servers: Bun.Server<undefined>[] = []
  for (const [key, group] of groups) {
    const first = group[0]!
    try {
      servers.push(
        Bun.serve({
          hostname: first.host,
          port: first.port,
          async fetch(request, server) {
            const url = new URL(request.url)
            const route = group.find((route) => route.path === url.pathname)
            const metrics = options.metrics(route?.pipeline ?? "")
            if (route === undefined) return problem(refusal("unknown_path"), false)
            if (request.method !== "POST") return problem(refusal("method_not_allowed"), false)
            if (draining) return problem(refusal("draining"), true)
            requests++
            const body = await request.bytes()
            bytes += body.length
            const info: RequestInfo = {
              method: request.method,
              path: url.pathname,
              query: url.search.slice(1),
              headers: request.headers,
              remoteAddress: server.requestIP(request)?.address ?? "",
            }
            try {
              const outcome = await route.handle({ body, receivedAtMs: Date.now(), request: info })
              if (outcome.kind === "rejected") {
                metrics.answered(outcome.status)
                return problem(outcome, false)
              }
              metrics.answered(route.response.status)
              return new Response(route.response.body, { status: route.response.status })
            } catch (error) {
              options.log.error({ err: error, pipeline: route.pipeline }, "fault")
              metrics.answered(500)
              return problem(refusal("internal"), false)
            } finally {
              requests--
              bytes -= body.length
            }
          },
        }),
      )
    } catch (error) {
      for (const server of servers) void server.stop(true)
      throw new HooklineError("listen", `can't listen on ${key}: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }
  return {
    urls: servers.map((server) => server.url.origin),
    async drain(timeoutMs) {
      draining = true
      const timer = setTimeout(() => {
        for (const server of servers) void server.stop(true)
      }, timeoutMs)
      await Promise.all(servers.map((server) => server.stop()))
      clearTimeout(timer)
    },
    inFlight: () => ({ requests, bytes }),
  }
}
