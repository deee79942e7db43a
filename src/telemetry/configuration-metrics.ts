import { Counter, Gauge, type Registry } from "prom-client"

/** What became of the configuration, named as Prometheus names its own. */
export interface ConfigurationMetrics {
  /** The configuration that was read took over. */
  took(): void
  /** The configuration that was read was wrong, or what it names can't be opened: nothing has changed. */
  failed(): void
  /** The first configuration runs. */
  started(): void
}

export function configurationMetrics(registry: Registry): ConfigurationMetrics {
  const registers = [registry]
  const reloads = new Counter({
    name: "hookline_config_reloads_total",
    help: "Reloads of the configuration, by result: success, failure.",
    labelNames: ["result"],
    registers,
  })
  const successful = new Gauge({
    name: "hookline_config_last_reload_successful",
    help: "1 when the last reload of the configuration, or the start, was successful, else 0.",
    registers,
  })
  const at = new Gauge({
    name: "hookline_config_last_reload_success_timestamp_seconds",
    help: "When the configuration that runs took over.",
    registers,
  })
  for (const result of ["success", "failure"]) reloads.inc({ result }, 0)
  const started = (): void => {
    successful.set(1)
    at.setToCurrentTime()
  }
  return {
    started,
    took() {
      reloads.inc({ result: "success" })
      started()
    },
    failed() {
      reloads.inc({ result: "failure" })
      successful.set(0)
    },
  }
}
