import type { Metrics } from "../../src/telemetry/metrics.ts"

/** What a scrape of these metrics gets. */
export const scraped = async (metrics: Pick<Metrics, "expose">, accept?: string): Promise<string> =>
  new Response((await metrics.expose(accept)).body).text()
