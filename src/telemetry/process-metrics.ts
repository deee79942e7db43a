import { readFileSync } from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { descriptorLimit, openDescriptors } from "../process/descriptors.ts"
import type { MetricRegistry } from "./metric-registry.ts"

type ProcessRow = Parameters<MetricRegistry["gauge"]>

const counter = { type: "counter" } as const

/**
 * What Prometheus' clients have of every process, under their names
 * (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics), and of Node's what Bun knows.
 */
const ROWS: readonly ProcessRow[] = [
  ["process_cpu_user_seconds_total", "Total user CPU time spent in seconds.", () => cpuS("user"), counter],
  [
    "process_cpu_system_seconds_total",
    "Total system CPU time spent in seconds.",
    () => cpuS("system"),
    counter,
  ],
  [
    "process_cpu_seconds_total",
    "Total user and system CPU time spent in seconds.",
    () => cpuS("user", "system"),
    counter,
  ],
  [
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
    () => Math.round(performance.timeOrigin / 1000),
  ],
  ["process_resident_memory_bytes", "Resident memory size in bytes.", () => process.memoryUsage.rss()],
  ["process_virtual_memory_bytes", "Virtual memory size in bytes.", () => statusBytes("VmSize")],
  ["process_heap_bytes", "Process heap size in bytes.", () => statusBytes("VmData")],
  ["process_open_fds", "Number of open file descriptors.", () => descriptorLimit() && openDescriptors()],
  ["process_max_fds", "Maximum number of open file descriptors.", descriptorLimit],
  ["nodejs_heap_size_total_bytes", "Process heap size from Node.js in bytes.", () => memory("heapTotal")],
  ["nodejs_heap_size_used_bytes", "Process heap size used from Node.js in bytes.", () => memory("heapUsed")],
  ["nodejs_external_memory_bytes", "Node.js external memory size in bytes.", () => memory("external")],
]

export function processMetrics(registry: MetricRegistry): void {
  for (const row of [...ROWS, ...lagRows()]) registry.gauge(...row)
  const { version } = process
  registry.reading(
    {
      name: "nodejs_version_info",
      help: "Node.js version info.",
      labels: ["version", "major", "minor", "patch"],
    },
    () => [[[version, ...version.slice(1).split(".")], 1]],
  )
}

/** Milliseconds between two samples of the event loop's delay. By default 10: half of what an idle process takes of a core. */
const LAG_SAMPLE_MS = 100

/** Delays of the event loop since the last scrape. */
function lagRows(): ProcessRow[] {
  const delays = monitorEventLoopDelay({ resolution: LAG_SAMPLE_MS })
  delays.enable()
  let turnNs = 0
  /** 0 if there was no sample since a scrape just before. */
  const row = (name: string, help: string, readNs: () => number): ProcessRow => [
    `nodejs_eventloop_lag_${name}`,
    help,
    () => (delays.count === 0 ? 0 : readNs() / 1e9),
  ]
  const percentile = (p: number): ProcessRow =>
    row(`p${p}_seconds`, `The ${p}th percentile of the recorded event loop delays.`, () =>
      delays.percentile(p),
    )
  return [
    [
      "nodejs_eventloop_lag_seconds",
      "Lag of event loop in seconds.",
      () => {
        const from = Bun.nanoseconds()
        setImmediate(() => (turnNs = Bun.nanoseconds() - from))
        return turnNs / 1e9
      },
    ],
    row("min_seconds", "The minimum recorded event loop delay.", () => delays.min),
    row("max_seconds", "The maximum recorded event loop delay.", () => delays.max),
    row("stddev_seconds", "The standard deviation of the recorded event loop delays.", () => delays.stddev),
    ...[50, 90, 99].map(percentile),
    row("mean_seconds", "The mean of the recorded event loop delays.", () => {
      const { mean } = delays
      delays.reset()
      return mean
    }),
  ]
}

function cpuS(...modes: readonly ("user" | "system")[]): number {
  const usage = process.cpuUsage()
  return modes.reduce((sum, mode) => sum + usage[mode], 0) / 1e6
}

const memory = (of: "heapTotal" | "heapUsed" | "external"): number => process.memoryUsage()[of]

/** A size of `/proc/self/status`; undefined: not on Linux. */
function statusBytes(field: string): number | undefined {
  if (process.platform !== "linux") return undefined
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(
    readFileSync("/proc/self/status", "latin1"),
  )?.[1]
  return kib === undefined ? undefined : Number(kib) * 1024
}
