import { Application } from "../application.ts"
import type { LogReader } from "../brokers/broker.ts"
import { openReader } from "../connection.ts"
import { HooklineError } from "../errors.ts"

/**
 * Opens the log of a connection of the configuration file for reading.
 *
 * @param id which connection; undefined: the only one
 * @throws HooklineError `config`, `usage` when the id is not one of the file's or is needed and missing
 */
export function openLogOf(file: string | undefined, id: string | undefined): LogReader {
  const { connections } = Application.fromFile(file).plan()
  const ids = [...connections.keys()]
  const chosen = id ?? (ids.length === 1 ? ids[0] : undefined)
  const connection = chosen === undefined ? undefined : connections.get(chosen)
  if (connection === undefined) {
    const complaint =
      chosen === undefined ? "the file has several connections" : `there is no connection ${chosen}`
    throw new HooklineError("usage", `${complaint}; choose one with --connection: ${ids.join(", ")}`)
  }
  return openReader(connection)
}
