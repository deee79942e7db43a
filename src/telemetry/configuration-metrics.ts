import type { MetricRegistry } from "./metric-registry.ts"

/** Outcomes of reloads, under names like those of Prometheus' own. */
export function configurationMetrics(registry: MetricRegistry) {
  const reloads = registry.tallies(
    "hookline_config_reloads_total",
    "Configuration reloads by result: success, failure.",
    ["result"],
  )
  let successful = 0
  let at = 0
  registry.gauge(
    "hookline_config_last_reload_successful",
    "1 if the last configuration reload, or the start, succeeded; else 0.",
    () => successful,
  )
  registry.gauge(
    "hookline_config_last_reload_success_timestamp_seconds",
    "When the active configuration was loaded.",
    () => at,
  )
  for (const result of ["success", "failure"]) reloads.at(result)
  const started = (): void => {
    successful = 1
    at = Date.now() / 1000
  }
  return {
    started,
    reloaded(): void {
      reloads.at("success").add()
      started()
    },
    /** The configuration is invalid, or one of its resources can't be opened. */
    failed(): void {
      reloads.at("failure").add()
      successful = 0
    },
  }
}
