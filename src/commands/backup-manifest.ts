import { readFileSync } from "node:fs"
import { join } from "node:path"
import { HooklineError } from "../errors.ts"
import { whyUnreadable } from "../process/paths.ts"
import type { KeptKind } from "../runtime/kept-files.ts"
import { fsyncFile } from "../storage/fsync.ts"
import { createPrivateFile } from "../storage/private-files.ts"

/** The list of what a folder made by `log backup` or `log rescue` has, which is written last. */
export const MANIFEST = "backup.json"

/** A file of a backup. */
export interface BackupFile {
  readonly kind: KeptKind | "secret"
  /** The path in the backup's folder. */
  readonly file: string
  /** The absolute path that it had. */
  readonly from: string
}

export interface Manifest {
  /** When it was made, in ISO 8601. */
  readonly made: string
  readonly files: readonly BackupFile[]
  /** Whether a rescue has left records behind that can't be read; absent: no. */
  readonly lacksRecords?: boolean
}

/** Writes the list durably, but for its name. */
export function writeManifest(folder: string, manifest: Manifest): void {
  createPrivateFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)
  fsyncFile(join(folder, MANIFEST))
}

/** @throws HooklineError `no_input` */
export function readManifest(folder: string): Manifest {
  const path = join(folder, MANIFEST)
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Manifest
  } catch (cause) {
    const why = cause instanceof SyntaxError ? "is not the list of a backup" : whyUnreadable(cause)
    throw new HooklineError("no_input", `${path} ${why}: name the folder of a complete backup`, { cause })
  }
}
