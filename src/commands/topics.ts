import { openLogOf } from "./open-log.ts"

/** Prints the topics of a connection's log as a table. */
export async function topics(options: { config?: string; connection?: string }): Promise<void> {
  const reader = openLogOf(options.config, options.connection)
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
    const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
    for (const row of rows) {
      console.log(
        row
          .map((cell, column) =>
            column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
          )
          .join("  "),
      )
    }
  } finally {
    await reader.close()
  }
}
