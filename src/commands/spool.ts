import { Application } from "../runtime/application.ts"
import { inspectSpool, readQuarantine, type SpooledTopicInfo } from "../brokers/spool/reader.ts"
import type { Connection } from "../config/sections/connection.ts"
import { HooklineError } from "../errors.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"
import { toPrintable } from "./printable.ts"
import { printTable } from "./table.ts"

type KafkaValues = Extract<Connection, { kind: "kafka" }>["values"]

/** A connection of the file that has a spool. */
export interface Spooling {
  readonly id: string
  readonly values: KafkaValues
}

/**
 * The spools of a configuration file. Only connections with a spool are read.
 *
 * @param id of the connection; undefined: all
 * @throws HooklineError `config`, `usage` if none
 */
export function spoolsOf(file: string | undefined, id: string | undefined): Spooling[] {
  const app = Application.fromFile(file)
  const ids = app.connectionIds("spool")
  const read = id !== undefined && ids.includes(id) ? [id] : ids
  const all = read.flatMap((id) => {
    const { kind, values } = app.connection(id)
    return kind === "kafka" && values.spool !== "off" ? [{ id, values }] : []
  })
  const chosen = id === undefined ? all : all.filter((one) => one.id === id)
  if (chosen.length > 0) return chosen
  const which = id === undefined ? "no connection of the file" : `no connection ${id} of the file`
  const names = all.length === 0 ? "" : `; these have: ${all.map((one) => one.id).join(", ")}`
  throw new HooklineError("usage", `${which} has a spool${names}`)
}

/** Prints the contents of spools; Hookline may run meanwhile. */
export async function spoolStatus(id: string | undefined, options: { config?: string }): Promise<void> {
  for (const { id: connection, values } of spoolsOf(options.config, id)) {
    const { topics, quarantined } = await inspectSpool(values.spool)
    const records = sum(topics.map((it) => it.records))
    const bytes = sum([...topics, ...quarantined].map((it) => it.bytes))
    console.log(`${connection}: ${values.spool}`)
    console.log(`${records} to be forwarded, ${bytes} of ${values.spool_max_bytes} bytes`)
    if (topics.length > 0) {
      const rows = topics.map((it) => [it.topic, `${it.records}`, `${it.bytes}`, oldest(it)])
      printTable([["TOPIC", "RECORDS", "BYTES", "OLDEST"], ...rows], [0, 3])
    }
    if (quarantined.length === 0) continue
    console.log(`${sum(quarantined.map((it) => it.records))} quarantined, which Kafka refused for good:`)
    const rows = quarantined.map((it) => [it.topic, `${it.records}`, `${it.bytes}`, oldest(it), it.reason])
    printTable([["TOPIC", "RECORDS", "BYTES", "OLDEST", "REASON"], ...rows], [0, 3, 4])
  }
}

/** Prints the quarantined records, one a line, as `tail --output json` does, with the reason. */
export function printQuarantine(id: string | undefined, options: { config?: string }): void {
  for (const { values } of spoolsOf(options.config, id)) {
    for (const record of readQuarantine(values.spool))
      console.log(escapeControls(JSON.stringify({ ...toPrintable(record), reason: record.reason })))
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, it) => total + it, 0)

const oldest = ({ oldestMs }: Pick<SpooledTopicInfo, "oldestMs">): string =>
  oldestMs === undefined ? "-" : new Date(oldestMs).toISOString()
