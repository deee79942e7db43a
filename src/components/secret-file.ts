import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { HooklineError } from "../errors.ts"

/** A file for a secret that the provider makes up and sends once. */
export interface SecretFile {
  /** What it holds, one a line; empty: there is no such file yet. */
  readonly secrets: readonly string[]
  /** Makes the file, for nobody but its owner to read. */
  keep(secret: string): void
}

/** @throws HooklineError `no_input` when it is there and can't be read */
export function openSecretFile(path: string): SecretFile {
  let text = ""
  try {
    if (existsSync(path)) text = readFileSync(path, "utf8")
  } catch (error) {
    throw new HooklineError("no_input", `secret_file ${path} can't be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  return {
    secrets: text.split("\n").flatMap((line) => line.trim() || []),
    // a file that is there by now, of another process, is not to be written over
    keep: (secret) => writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: "wx" }),
  }
}
