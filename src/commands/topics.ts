import type { LogFlags } from "./log-choice.ts"
import { openLogOf } from "./open-log.ts"
import { printTable } from "./table.ts"

/** Prints the topics of a connection's log, as a table or a JSON array. */
export async function topics({ config, connection, json }: LogFlags): Promise<void> {
  const reader = await openLogOf(config, connection)
  try {
    const found = (await reader.topics()).toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
    if (json === true) return console.log(JSON.stringify(found, null, 2))
    const rows = found.map(({ topic, partitions, records, bytes }) =>
      [topic, partitions, records, bytes ?? "-"].map(String),
    )
    printTable([["TOPIC", "PARTITIONS", "RECORDS", "BYTES"], ...rows], [0])
  } finally {
    await reader.close()
  }
}
