import { existsSync, readFileSync } from "node:fs"
import { HooklineError } from "../errors.ts"
import { createPrivateFile, looseMode } from "../storage/private-files.ts"
import type { Logger } from "../telemetry/log.ts"

/** A file for a secret that the provider makes up and sends once. */
export interface SecretFile {
  /** What it holds, one a line; empty: there is no such file yet. */
  readonly secrets: readonly string[]
  /** Makes the file, for nobody but its owner to read. */
  keep(secret: string): void
}

/** @throws HooklineError `no_input` when it is there and can't be read */
export function openSecretFile(path: string, log: Logger): SecretFile {
  let text = ""
  try {
    if (existsSync(path)) text = readFileSync(path, "utf8")
  } catch (error) {
    throw new HooklineError("no_input", `secret_file ${path} can't be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  const loose = looseMode(path)
  if (loose !== undefined)
    log.warn({ paths: [loose] }, "secret_file is open to other users of this machine; run chmod go-rwx on it")
  return {
    secrets: text.split("\n").flatMap((line) => line.trim() || []),
    // a file that is there by now, of another process, is not to be written over
    keep: (secret) => createPrivateFile(path, `${secret}\n`),
  }
}
