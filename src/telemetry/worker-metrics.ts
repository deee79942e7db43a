import { Counter, Gauge, type Registry } from "prom-client"
import type { MetricLines } from "./metric-lines.ts"

/** A worker as metrics tell it. */
export interface ToldWorker {
  readonly worker: number
  readonly isUp: boolean
  /** What its metrics said last; undefined: it has told nothing since it was started. */
  readonly metrics: readonly MetricLines[] | undefined
}

/** What the processes that share the load do, one by one. */
export interface WorkerMetrics {
  /** One has ended that was not to. */
  lost(worker: number): void
  /** One stands still, or was killed for it. */
  stalled(worker: number, what: "noticed" | "killed"): void
  told(workers: readonly ToldWorker[]): void
}

export function workerMetrics(registry: Registry): WorkerMetrics {
  const labelNames = ["worker"]
  const registers = [registry]
  const up = new Gauge({
    name: "hookline_worker_up",
    help: "1 while the worker takes webhooks, else 0, also while it stalls.",
    labelNames,
    registers,
  })
  const ends = new Counter({
    name: "hookline_worker_ends_total",
    help: "How often the worker has ended that was not to, and was started again.",
    labelNames,
    registers,
  })
  const stalls = new Counter({
    name: "hookline_worker_stalls_total",
    help: "How often the worker's event loop has not answered for 2 s.",
    labelNames,
    registers,
  })
  const stallKills = new Counter({
    name: "hookline_worker_stall_kills_total",
    help: "How often the worker was killed and started again because it stalled for longer than stall_timeout.",
    labelNames,
    registers,
  })
  const requests = new Counter({
    name: "hookline_worker_http_requests_total",
    help: "Answers given by the worker since it was started.",
    labelNames,
    registers,
  })
  return {
    lost: (worker) => ends.inc({ worker }),
    stalled: (worker, what) => (what === "noticed" ? stalls : stallKills).inc({ worker }),
    told(workers) {
      up.reset()
      requests.reset()
      for (const { worker, isUp, metrics } of workers) {
        up.set({ worker }, isUp ? 1 : 0)
        for (const counter of [ends, stalls, stallKills]) counter.inc({ worker }, 0)
        requests.inc({ worker }, requestsIn(metrics ?? []))
      }
    },
  }
}

function requestsIn(metrics: readonly MetricLines[]): number {
  const values = metrics.find(({ name }) => name === "hookline_http_requests_total")?.values ?? []
  return values.reduce((sum, value) => sum + value, 0)
}
