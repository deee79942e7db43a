import type { Started } from "./hookline.ts"

/** The values of a metric, by the labels as they stand there. */
export async function metricOf(running: Started, name: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${running.adminUrl}/metrics`)).text()
  const lines = [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, "gm"))]
  return new Map(lines.map(([, labels, value]) => [labels ?? "", Number(value)]))
}

export const sum = (values: Iterable<number>): number => [...values].reduce((a, b) => a + b, 0)
