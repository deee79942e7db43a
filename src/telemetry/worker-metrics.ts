import type { Metric, MetricRegistry } from "./metric-registry.ts"

export interface CountedWorker {
  readonly number: number
  readonly isUp: boolean
  readonly counted: readonly Metric[]
}

export type WorkerMetrics = ReturnType<typeof workerMetrics>

/** Metrics of the processes that share the load, one by one. */
export function workerMetrics(registry: MetricRegistry) {
  const labels = ["worker"]
  let workers: readonly CountedWorker[] = []
  registry.reading(
    {
      name: "hookline_worker_up",
      help: "1 while the worker accepts webhooks; 0 while it is down or stalls.",
      labels,
    },
    () => workers.map(({ number, isUp }) => [[number], Number(isUp)]),
  )
  const ends = registry.tallies(
    "hookline_worker_ends_total",
    "Unexpected exits of the worker, each followed by a restart.",
    labels,
  )
  const stalls = registry.tallies(
    "hookline_worker_stalls_total",
    "Times that the worker's event loop was blocked for 2 s.",
    labels,
  )
  const stallKills = registry.tallies(
    "hookline_worker_stall_kills_total",
    "Times that the worker was killed and restarted for stalling longer than stall_timeout.",
    labels,
  )
  registry.reading(
    {
      name: "hookline_worker_http_requests_total",
      help: "Answers given by the worker since its start.",
      type: "counter",
      labels,
    },
    () => workers.map(({ number, counted }) => [[number], requestsIn(counted)]),
  )
  return {
    ended: (worker: number): void => ends.at(worker).add(),
    stalled: (worker: number, what: "noticed" | "killed"): void =>
      (what === "noticed" ? stalls : stallKills).at(worker).add(),
    update(now: readonly CountedWorker[]): void {
      workers = now
      for (const { number } of now) for (const it of [ends, stalls, stallKills]) it.at(number)
    },
  }
}

function requestsIn(metrics: readonly Metric[]): number {
  let sum = 0
  for (const [, value] of metrics.find(({ name }) => name === "hookline_http_requests_total")?.lines() ?? [])
    sum += value
  return sum
}
