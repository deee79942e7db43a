import { dirname, join, resolve } from "node:path"
import type { Connection } from "../brokers/define-connection.ts"
import { FILE_NAME } from "../process/file-name.ts"
import { HooklineError } from "../errors.ts"
import { Positions } from "../replay/positions.ts"
import type { Application } from "../runtime/application.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"

/** Where positions of replays and forwards are kept: `.hookline` next to the configuration file, unless a flag names another. */
export function stateFolder(app: Application, given: string | undefined): string {
  if (given !== undefined) return resolve(given)
  const [file] = app.inputs.keys()
  return join(dirname(file!), ".hookline")
}

/** @throws HooklineError `usage` for what can't be a file's name */
export function checkName(name: string): string {
  if (FILE_NAME.pattern.test(name)) return name
  throw new HooklineError(
    "usage",
    `${JSON.stringify(name)} can't be a name: up to 100 letters, digits, "_", "-" and "." are allowed`,
  )
}

/** @throws HooklineError `log_locked`, `log_io` */
export function openPositions<About>(location: DatabaseLocation): Positions<About> {
  try {
    return Positions.advance(location)
  } catch (error) {
    if (!(error instanceof HooklineError) || error.code !== "log_io") throw error
    throw new HooklineError("log_io", `${error.message}; --state names another folder`, { cause: error })
  }
}

/** @throws HooklineError `config`, `usage` */
export function connectionNamed(app: Application, id: string): Connection {
  const ids = app.connectionIds()
  if (ids.includes(id)) return app.connection(id)
  throw new HooklineError(
    "usage",
    `unknown connection ${id}; the file has ${ids.length === 0 ? "none" : ids.join(", ")}`,
  )
}
