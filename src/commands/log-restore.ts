import { copyFileSync, readFileSync, renameSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { HooklineError } from "../errors.ts"
import { exists, whyUnreadable } from "../process/paths.ts"
import { locationOf } from "../runtime/kept-files.ts"
import { createPrivateFile, makePrivateFolder } from "../storage/private-files.ts"
import { fsyncFile, fsyncFolder } from "../storage/fsync.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import { MANIFEST, type BackupFile } from "./log-backup.ts"
import { writingInto } from "../storage/writing-into.ts"
import { printTable } from "./table.ts"

/**
 * Puts the files of a backup back, once none of them is in use; those that exist are renamed, with their WALs.
 *
 * @throws HooklineError `no_input`, `log_locked`, `log_io`
 */
export function restoreLogs(folder: string): void {
  const source = resolve(folder)
  const files = readManifest(join(source, MANIFEST))
  for (const { file } of files)
    if (!exists(join(source, file)))
      throw new HooklineError("no_input", `the backup is not complete: ${join(source, file)} does not exist`)
  using locks = new DisposableStack()
  for (const { kind, from } of files) {
    makePrivateFolder(dirname(from))
    const location = kind === "secret" ? undefined : locationOf(kind, from)
    if (location !== undefined) locks.defer(lockForWriting(location))
  }
  const suffix = `.before-restore-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`
  for (const { file, from } of files) copyDurably(join(source, file), `${from}.restoring`)
  for (const { from } of files) {
    for (const path of [from, `${from}-wal`, `${from}-shm`])
      if (exists(path)) renameSync(path, `${path}${suffix}`)
    renameSync(`${from}.restoring`, from)
    fsyncFolder(dirname(from))
  }
  printTable([["RESTORED", "FROM"], ...files.map(({ file, from }) => [from, file])], [0, 1])
}

function readManifest(path: string): readonly BackupFile[] {
  try {
    return (JSON.parse(readFileSync(path, "utf8")) as { files: BackupFile[] }).files
  } catch (cause) {
    const why = cause instanceof SyntaxError ? "is not the list of a backup" : whyUnreadable(cause)
    throw new HooklineError("no_input", `${path} ${why}: name the folder of a complete backup`, { cause })
  }
}

function copyDurably(from: string, to: string): void {
  // one that exists was left by a restore that was interrupted
  writingInto(to, "free space, and restore again", () => {
    if (!exists(to)) createPrivateFile(to, "")
    copyFileSync(from, to)
    fsyncFile(to)
  })
}
