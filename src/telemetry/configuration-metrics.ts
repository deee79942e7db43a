import type { ConfigurationState } from "./gauges.ts"
import type { MetricRegistry } from "./metric-registry.ts"

/** Outcomes of reloads, under names like those of Prometheus' own. */
export function configurationMetrics(registry: MetricRegistry) {
  const reloads = registry.tallies(
    "hookline_config_reloads_total",
    "Configuration reloads by result: success, failure.",
    ["result"],
  )
  let loadedAtMs = Date.now()
  // until it has started
  let isSuccessful = false
  let problem: string | undefined
  registry.gauge(
    "hookline_config_last_reload_successful",
    "1 if the last configuration reload, or the start, succeeded; else 0.",
    () => (isSuccessful ? 1 : 0),
  )
  registry.gauge(
    "hookline_config_last_reload_success_timestamp_seconds",
    "When the active configuration was loaded.",
    () => loadedAtMs / 1000,
  )
  for (const result of ["success", "failure"]) reloads.at(result)
  const started = (): void => {
    isSuccessful = true
    problem = undefined
    loadedAtMs = Date.now()
  }
  return {
    started,
    state: (): ConfigurationState => ({ loadedAtMs, problem }),
    reloaded(): void {
      reloads.at("success").add()
      started()
    },
    /** The configuration is invalid, or one of its resources can't be opened. @param reason without secrets */
    failed(reason: string): void {
      reloads.at("failure").add()
      isSuccessful = false
      problem = reason
    },
  }
}
