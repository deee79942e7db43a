import { openLogOf } from "./open-log.ts"
import { printTable } from "./table.ts"

/** Prints the topics of a connection's log as a table. */
export async function topics(options: { config?: string; connection?: string }): Promise<void> {
  const reader = await openLogOf(options.config, options.connection)
  try {
    const found = await reader.topics()
    const rows = [
      ["TOPIC", "PARTITIONS", "RECORDS", "BYTES"],
      ...found
        .toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
        .map((it) => [
          it.topic,
          String(it.partitions),
          String(it.records),
          it.bytes === undefined ? "-" : String(it.bytes),
        ]),
    ]
    printTable(rows, [0])
  } finally {
    await reader.close()
  }
}
