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
  told(workers: readonly ToldWorker[]): void
}

export function workerMetrics(registry: Registry): WorkerMetrics {
  const labelNames = ["worker"]
  const registers = [registry]
  const up = new Gauge({
    name: "hookline_worker_up",
    help: "1 while the worker takes webhooks, else 0.",
    labelNames,
    registers,
  })
  const ends = new Counter({
    name: "hookline_worker_ends_total",
    help: "How often the worker has ended that was not to, and was started again.",
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
    told(workers) {
      up.reset()
      requests.reset()
      for (const { worker, isUp, metrics } of workers) {
        up.set({ worker }, isUp ? 1 : 0)
        ends.inc({ worker }, 0)
        requests.inc({ worker }, requestsIn(metrics ?? []))
      }
    },
  }
}

function requestsIn(metrics: readonly MetricLines[]): number {
  const values = metrics.find(({ name }) => name === "hookline_http_requests_total")?.values ?? []
  return values.reduce((sum, value) => sum + value, 0)
}
