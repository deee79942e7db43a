import { initializePostgres } from "../../src/brokers/postgres/initialize.ts"
import type { Destination } from "./fault.ts"
import { eventsIn } from "./findings.ts"
import { query, type Postgres } from "./postgres.ts"

let schemas = 0

/**
 * A log of a scenario's own in PostgreSQL, of three partitions.
 *
 * @param through `host:port` that Hookline connects to in its place @param last has the log in the end
 */
export async function onPostgres(
  { url }: Postgres,
  { through = new URL(url).host, last = { url } }: { through?: string; last?: Pick<Postgres, "url"> } = {},
): Promise<Destination> {
  const schema = `log_${schemas++}`
  await initializePostgres({ postgres: url, schema }, undefined)
  return {
    connection: `postgres = ${url.replace(new URL(url).host, through)}\nschema = ${schema}\npartitions = 3\n`,
    topic: "webhooks",
    async events() {
      const rows = await query<{ value: string }>(
        last.url,
        `SELECT value FROM ${schema}.events ORDER BY partition, "offset"`,
      )
      return eventsIn(rows.map(({ value }) => value))
    },
  }
}
