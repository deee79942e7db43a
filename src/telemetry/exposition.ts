import { Registry } from "prom-client"
import { inSlices } from "../slices.ts"
import { readText, writeMetrics, type MetricLines } from "./metric-lines.ts"

/** Metrics as text, and what kind of text it is. */
export interface Exposition {
  readonly text: string
  readonly contentType: string
}

/** Writes metrics in slices: those of thousands of pipelines are megabytes. */
export async function exposeLines(metrics: readonly MetricLines[]): Promise<Exposition> {
  return { text: await inSlices(writeMetrics(metrics)), contentType: Registry.PROMETHEUS_CONTENT_TYPE }
}

/** What the metrics of a registry say now. */
export async function readRegistry(registry: Registry): Promise<MetricLines[]> {
  const all: MetricLines[] = []
  for (const metric of registry.getMetricsAsArray()) {
    const { name, help, type, aggregator } = metric as unknown as MetricLines
    const text = await registry.getSingleMetricAsString(name)
    all.push(readText(text, { name, help, type, aggregator }))
  }
  return all
}

/** Has what is asked for while an answer to the same is made get that answer. */
export function shareAnswer<T>(answer: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined
  return () =>
    (pending ??= answer().finally(() => {
      pending = undefined
    }))
}
