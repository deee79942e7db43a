import { Registry } from "prom-client"
import { inSlices } from "../clock.ts"
import { labelText, writeMetrics, type MetricLines } from "./metric-lines.ts"

export interface Exposition {
  readonly text: string
  readonly contentType: string
}

/** Writes metrics in slices: thousands of pipelines give megabytes. */
export async function exposeLines(metrics: readonly MetricLines[]): Promise<Exposition> {
  return { text: await inSlices(writeMetrics(metrics)), contentType: Registry.PROMETHEUS_CONTENT_TYPE }
}

/** The present values of a registry's metrics. */
export async function readRegistry(registry: Registry): Promise<MetricLines[]> {
  const metrics = await registry.getMetricsAsJSON()
  return metrics.map((metric) => {
    const { name, help, type, aggregator, values } = metric as unknown as ClientMetric
    return {
      name,
      help,
      type,
      aggregator,
      series: values.map(({ metricName = name, labels }) => metricName + labelText(labels)),
      values: values.map(({ value }) => value),
    }
  })
}

interface ClientMetric extends Omit<MetricLines, "series" | "values"> {
  readonly values: readonly {
    readonly value: number
    readonly labels: { readonly [name: string]: string | number }
    /** Of histograms, whose series have names of their own. */
    readonly metricName?: string
  }[]
}

/** Lets calls that arrive while one is running share its result. */
export function shareAnswer<T>(answer: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined
  return () =>
    (pending ??= answer().finally(() => {
      pending = undefined
    }))
}
