import { Application } from "../runtime/application.ts"
import { HooklineError } from "../errors.ts"
import { exists } from "../process/paths.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"

export interface LogFlags {
  readonly config?: string
  readonly connection?: string
  readonly json?: true
}

/**
 * Finds the embedded log or spool of a connection of the configuration file. Without an id it is the only log or, where there
 * is none, the only spool.
 *
 * @throws HooklineError `config`, `usage`, `no_log`
 */
export function chooseLog({ config, connection: id }: LogFlags): DatabaseLocation {
  const app = Application.fromFile(config)
  const logs = app.connectionIds("directory")
  const all = [...logs, ...app.connectionIds("spool")]
  const [chosen, ...others] =
    id === undefined ? (logs.length > 0 ? logs : all) : all.filter((one) => one === id)
  if (all.length === 0)
    throw new HooklineError("usage", "no connection of the file has an embedded log or a spool")
  if (chosen === undefined || others.length > 0)
    throw new HooklineError(
      "usage",
      `choose the connection of an embedded log or a spool with --connection: ${all.join(", ")}`,
    )
  const { kind, values } = app.connection(chosen)
  const location = kind
    .files?.(values)
    .find(({ database }) => database?.kind === "log" || database?.kind === "spool")?.database
  if (location === undefined) throw new HooklineError("usage", `connection ${chosen} has no spool`)
  if (!exists(location.file))
    throw new HooklineError("no_log", `${location.title} does not exist: there is no ${location.file}`)
  return location
}
