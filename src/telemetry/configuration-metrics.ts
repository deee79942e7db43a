import { Counter, Gauge, type Registry } from "prom-client"

export type ConfigurationMetrics = ReturnType<typeof configurationMetrics>

/** Outcomes of reloads, under names like those of Prometheus' own. */
export function configurationMetrics(registry: Registry) {
  const registers = [registry]
  const reloads = new Counter({
    name: "hookline_config_reloads_total",
    help: "Configuration reloads by result: success, failure.",
    labelNames: ["result"],
    registers,
  })
  const successful = new Gauge({
    name: "hookline_config_last_reload_successful",
    help: "1 if the last configuration reload, or the start, succeeded; else 0.",
    registers,
  })
  const at = new Gauge({
    name: "hookline_config_last_reload_success_timestamp_seconds",
    help: "When the active configuration was loaded.",
    registers,
  })
  for (const result of ["success", "failure"]) reloads.inc({ result }, 0)
  const started = (): void => {
    successful.set(1)
    at.setToCurrentTime()
  }
  return {
    started,
    reloaded(): void {
      reloads.inc({ result: "success" })
      started()
    },
    /** The configuration is invalid, or one of its resources can't be opened. */
    failed(): void {
      reloads.inc({ result: "failure" })
      successful.set(0)
    },
  }
}
