import { Application } from "../runtime/application.ts"
import type { LogReader } from "../brokers/broker.ts"
import { HooklineError } from "../errors.ts"

/**
 * Opens the log of a connection of the configuration file for reading. Only that connection's section is read: an unset
 * variable or a missing file elsewhere is no error.
 *
 * @param id which connection; undefined: the only one
 * @throws HooklineError `config`, `usage` when the id is not one of the file's or is needed and missing
 */
export async function openLogOf(file: string | undefined, id: string | undefined): Promise<LogReader> {
  const app = Application.fromFile(file)
  const ids = app.connectionIds()
  if (ids.length === 0)
    throw new HooklineError(
      "config",
      "the file has no connection; add [connection:<id>], or name another file",
    )
  const chosen = id ?? (ids.length === 1 ? ids[0] : undefined)
  if (chosen === undefined || !ids.includes(chosen)) {
    const complaint =
      chosen === undefined ? "the file has several connections" : `unknown connection ${chosen}`
    throw new HooklineError("usage", `${complaint}; choose one with --connection: ${ids.join(", ")}`)
  }
  return app.openReader(chosen)
}
