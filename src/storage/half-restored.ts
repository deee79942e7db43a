import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { HooklineError } from "../errors.ts"

/*
 * `hookline log restore` puts files of a folder in their places one by one (commands/log-restore.ts), and may be killed between
 * two of them. Meanwhile they lie in a folder `restoring` next to their places, and nothing there is opened: a log whose file is
 * not in its place yet would begin empty, and one beside older keys or positions would not agree with them.
 */

export const RESTORING = "restoring"
/** The file in `restoring` that says what is being restored. */
export const RESTORE_NOTE = "restore.json"

export interface RestoreNote {
  /** Folder of the backup. */
  readonly backup: string
  /** Appended to the names of the files that were there: `.before-restore-<time>`. */
  readonly suffix: string
}

/** Reads what a folder is in the middle of; undefined: no restore. */
export function readRestoreNote(folder: string): RestoreNote | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, RESTORING, RESTORE_NOTE), "utf8")) as RestoreNote
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as { code?: string }).code ?? "")) return undefined
    throw error
  }
}

/** @throws HooklineError `log_io` if the file's folder is in the middle of a restore */
export function refuseHalfRestored(file: string): void {
  const note = readRestoreNote(dirname(file))
  if (note === undefined) return
  throw new HooklineError(
    "log_io",
    `${file} is not opened: a restore of its folder has not ended; run hookline log restore ${note.backup} again, which continues it`,
  )
}
