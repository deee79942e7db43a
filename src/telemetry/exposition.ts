import type { Registry } from "prom-client"
import { inSlices } from "../clock/slices.ts"
import { labelText, type MetricDeclaration, type MetricLines } from "./own-metrics.ts"
import { CONTENT_TYPES, formatFor, writeMetrics, type TextFormat } from "./text-formats.ts"

export interface Exposition {
  readonly text: string
  readonly contentType: string
}

/** Writes metrics in slices: thousands of pipelines give megabytes. */
export async function exposeLines(metrics: readonly MetricLines[], format: TextFormat): Promise<Exposition> {
  return { text: await inSlices(writeMetrics(metrics, format)), contentType: CONTENT_TYPES[format] }
}

/** Answers scrapes by their Accept header; those that arrive while one is answered share its work. */
export function exposing(
  read: () => Promise<readonly MetricLines[]>,
): (accept?: string | null) => Promise<Exposition> {
  const shared = shareAnswer(read)
  const answers = {
    prometheus: shareAnswer(async () => exposeLines(await shared(), "prometheus")),
    openmetrics: shareAnswer(async () => exposeLines(await shared(), "openmetrics")),
  }
  return (accept) => answers[formatFor(accept)]()
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

/** What a registry's metrics are declared as. */
export const declarationsIn = (registry: Registry): MetricDeclaration[] =>
  (registry.getMetricsAsArray() as unknown as ClientDeclaration[]).map(
    ({ name, help, type, aggregator, labelNames }) => ({ name, help, type, aggregator, labels: labelNames }),
  )

interface ClientDeclaration extends Omit<MetricDeclaration, "labels"> {
  readonly labelNames: readonly string[]
}

interface ClientMetric extends Omit<MetricLines, "series" | "values"> {
  readonly values: readonly {
    readonly value: number
    readonly labels: { readonly [name: string]: string | number }
    /** The name of a histogram's series, which have names of their own. */
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
