import { Counter, Gauge, type Registry } from "prom-client"
import type { MetricLines } from "./own-metrics.ts"

export interface CountedWorker {
  readonly number: number
  readonly isUp: boolean
  readonly counted: readonly MetricLines[]
}

export type WorkerMetrics = ReturnType<typeof workerMetrics>

/** Metrics of the processes that share the load, one by one. */
export function workerMetrics(registry: Registry) {
  const more = { labelNames: ["worker"], registers: [registry] }
  const up = new Gauge({
    name: "hookline_worker_up",
    help: "1 while the worker accepts webhooks; 0 while it is down or stalls.",
    ...more,
  })
  const counter = (name: string, help: string) => new Counter({ name, help, ...more })
  const ends = counter(
    "hookline_worker_ends_total",
    "Unexpected exits of the worker, each followed by a restart.",
  )
  const stalls = counter(
    "hookline_worker_stalls_total",
    "Times that the worker's event loop was blocked for 2 s.",
  )
  const stallKills = counter(
    "hookline_worker_stall_kills_total",
    "Times that the worker was killed and restarted for stalling longer than stall_timeout.",
  )
  const requests = counter(
    "hookline_worker_http_requests_total",
    "Answers given by the worker since its start.",
  )
  return {
    ended: (worker: number): void => ends.inc({ worker }),
    stalled: (worker: number, what: "noticed" | "killed"): void =>
      (what === "noticed" ? stalls : stallKills).inc({ worker }),
    update(workers: readonly CountedWorker[]): void {
      up.reset()
      requests.reset()
      for (const { number: worker, isUp, counted } of workers) {
        up.set({ worker }, isUp ? 1 : 0)
        for (const it of [ends, stalls, stallKills]) it.inc({ worker }, 0)
        requests.inc({ worker }, requestsIn(counted))
      }
    },
  }
}

function requestsIn(metrics: readonly MetricLines[]): number {
  const values = metrics.find(({ name }) => name === "hookline_http_requests_total")?.values ?? []
  return values.reduce((sum, value) => sum + value, 0)
}
