import { Application } from "../runtime/application.ts"
import {
  inspectSpool,
  readQuarantine,
  type QuarantineInfo,
  type SpooledTopicInfo,
} from "../brokers/spool/reader.ts"
import type { SpoolSettings } from "../brokers/define-connection.ts"
import { HooklineError } from "../errors.ts"
import { toJsonLine } from "./record-formats.ts"
import { printTable } from "./table.ts"

/** The spool of a connection of the file. */
export interface Spooling extends SpoolSettings {
  readonly id: string
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
    const spool = kind.spool?.(values)
    return spool === undefined ? [] : [{ id, ...spool }]
  })
  const chosen = id === undefined ? all : all.filter((one) => one.id === id)
  if (chosen.length > 0) return chosen
  const which = id === undefined ? "no connection of the file" : `no connection ${id} of the file`
  const names = all.length === 0 ? "" : `; these have: ${all.map((one) => one.id).join(", ")}`
  throw new HooklineError("usage", `${which} has a spool${names}`)
}

/** Prints the contents of spools, or a JSON array of them; Hookline may run meanwhile. */
export async function spoolStatus(
  id: string | undefined,
  options: { readonly config?: string; readonly json?: true },
): Promise<void> {
  const spools = await Promise.all(spoolsOf(options.config, id).map(contentsOf))
  if (options.json === true) return console.log(JSON.stringify(spools.map(withTimes), null, 2))
  for (const { connection, file, records, bytes, maxBytes, topics, quarantined } of spools) {
    console.log(`${connection}: ${file}`)
    console.log(`${records} to be forwarded, ${bytes} of ${maxBytes} bytes`)
    if (topics.length > 0) {
      const rows = topics.map((it) => [it.topic, `${it.records}`, `${it.bytes}`, oldest(it) ?? "-"])
      printTable([["TOPIC", "RECORDS", "BYTES", "OLDEST"], ...rows], [0, 3])
    }
    if (quarantined.length === 0) continue
    console.log(`${sum(quarantined.map((it) => it.records))} quarantined, which Kafka refused for good:`)
    const rows = quarantined.map((it) => [it.topic, `${it.records}`, `${it.bytes}`, oldest(it)!, it.reason])
    printTable([["TOPIC", "RECORDS", "BYTES", "OLDEST", "REASON"], ...rows], [0, 3, 4])
  }
}

async function contentsOf({ id, file, maxBytes }: ReturnType<typeof spoolsOf>[number]) {
  const { topics, quarantined } = await inspectSpool(file)
  const records = sum(topics.map((it) => it.records))
  const bytes = sum([...topics, ...quarantined].map((it) => it.bytes))
  return { connection: id, file, records, bytes, maxBytes, topics, quarantined }
}

/** As JSON has it: keys as in the configuration, times in ISO 8601. */
function withTimes({ maxBytes, topics, quarantined, ...spool }: Awaited<ReturnType<typeof contentsOf>>) {
  const timed = ({ oldestMs, ...it }: SpooledTopicInfo | QuarantineInfo): object => ({
    ...it,
    oldest: oldest({ oldestMs }),
  })
  return {
    ...spool,
    spool_max_bytes: maxBytes,
    topics: topics.map(timed),
    quarantined: quarantined.map(timed),
  }
}

/** Prints the quarantined records, one a line, as `tail --format json` does, with the reason. */
export function printQuarantine(id: string | undefined, options: { config?: string }): void {
  for (const { file } of spoolsOf(options.config, id)) {
    for (const { reason, ...record } of readQuarantine(file))
      process.stdout.write(toJsonLine(record, { reason }))
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, it) => total + it, 0)

const oldest = ({ oldestMs }: Pick<SpooledTopicInfo, "oldestMs">): string | undefined =>
  oldestMs === undefined ? undefined : new Date(oldestMs).toISOString()
