import { copyFileSync, readdirSync, renameSync, rmSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { HooklineError } from "../errors.ts"
import { exists } from "../process/paths.ts"
import { locationOf } from "../runtime/kept-files.ts"
import { fsyncFile, fsyncFolder } from "../storage/fsync.ts"
import { readRestoreNote, RESTORE_NOTE, RESTORING, type RestoreNote } from "../storage/half-restored.ts"
import { createPrivateFile, makePrivateFolder } from "../storage/private-files.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import { writingInto } from "../storage/writing-into.ts"
import { readManifest, type BackupFile } from "./backup-manifest.ts"
import { printTable } from "./table.ts"

/*
 * A restore may be killed at any instant, and is continued when it is run again:
 *
 *   1. The files are copied to `restoring.part` in each folder that gets some. Until the last is there nothing has changed.
 *   2. Each `restoring.part` is renamed to `restoring`: one rename commits the folder with all its files, and nothing in
 *      it is opened from then on (storage/half-restored.ts).
 *   3. Each file that is in the place of another takes it: the other one is renamed, with its WAL.
 *   4. `restoring` goes, and the folder can be opened.
 */

const PART = `${RESTORING}.part`

/**
 * Puts the files of a backup, or of a rescue, back, once none of them is in use; those that exist are renamed, with their WALs.
 *
 * @param options `withoutLost`: also a rescue that lacks records
 * @throws HooklineError `usage`, `no_input`, `log_locked`, `log_io`
 */
export function restoreLogs(folder: string, { withoutLost }: { readonly withoutLost?: true } = {}): void {
  const source = resolve(folder)
  const { files, lacksRecords } = readManifest(source)
  if (lacksRecords === true && withoutLost !== true)
    throw new HooklineError(
      "usage",
      `${source} lacks records that could not be read; restore a backup that has them, or add --without-lost to go on without them`,
    )
  for (const { file } of files)
    if (!exists(join(source, file)))
      throw new HooklineError("no_input", `the backup is not complete: ${join(source, file)} does not exist`)
  using locks = new DisposableStack()
  for (const { kind, from } of files) {
    makePrivateFolder(dirname(from))
    const location = kind === "secret" ? undefined : locationOf(kind, from)
    if (location !== undefined) locks.defer(lockForWriting(location))
  }
  for (const _ of stepsOfRestore(source, files));
  printTable([["RESTORED", "FROM"], ...files.map(({ file, from }) => [from, file])], [0, 1])
}

/**
 * Restores files whose folders exist and whose locks are held. Yields after each change that a kill may come after.
 *
 * @throws HooklineError `log_io`
 */
export function* stepsOfRestore(source: string, files: readonly BackupFile[]): Generator<undefined> {
  const folders = [...Map.groupBy(files, ({ from }) => dirname(from))]
  const notes = folders.flatMap(([folder]) => readRestoreNote(folder) ?? [])
  const other = notes.find(({ backup }) => backup !== source)
  if (other !== undefined)
    throw new HooklineError(
      "log_io",
      `a restore of ${other.backup} has not ended; run hookline log restore ${other.backup} first, which continues it`,
    )
  if (notes.length === 0) yield* stage(source, folders)
  for (const [folder] of folders) {
    if (!exists(join(folder, PART))) continue
    renameSync(join(folder, PART), join(folder, RESTORING))
    fsyncFolder(folder)
    yield
  }
  for (const [folder] of folders) yield* putInPlace(folder)
}

/** Copies files next to their places. What another restore has copied before it was killed is removed. */
function* stage(
  source: string,
  folders: readonly (readonly [string, readonly BackupFile[]])[],
): Generator<undefined> {
  const suffix = `.before-restore-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`
  const note: RestoreNote = { backup: source, suffix }
  try {
    for (const [folder, files] of folders) {
      const part = join(folder, PART)
      rmSync(part, { recursive: true, force: true })
      writingInto(part, "free space, and restore again", () => makePrivateFolder(part))
      for (const { file, from } of files) {
        copyDurably(join(source, file), join(part, basename(from)))
        yield
      }
      copyNote(join(part, RESTORE_NOTE), note)
      fsyncFolder(part)
      yield
    }
  } catch (error) {
    for (const [folder] of folders) rmSync(join(folder, PART), { recursive: true, force: true })
    throw error
  }
}

function* putInPlace(folder: string): Generator<undefined> {
  const note = readRestoreNote(folder)
  if (note === undefined) return
  const restoring = join(folder, RESTORING)
  for (const name of readdirSync(restoring)) {
    if (name === RESTORE_NOTE) continue
    const path = join(folder, name)
    // SQLite finds the WAL by the name of its database
    for (const part of ["", "-wal", "-shm"]) {
      if (!exists(`${path}${part}`)) continue
      renameSync(`${path}${part}`, `${path}${note.suffix}${part}`)
      yield
    }
    renameSync(join(restoring, name), path)
    yield
  }
  fsyncFolder(restoring)
  fsyncFolder(folder)
  rmSync(restoring, { recursive: true })
  fsyncFolder(folder)
}

function copyDurably(from: string, to: string): void {
  writingInto(to, "free space, and restore again", () => {
    createPrivateFile(to, "")
    copyFileSync(from, to)
    fsyncFile(to)
  })
}

function copyNote(to: string, note: RestoreNote): void {
  writingInto(to, "free space, and restore again", () => {
    createPrivateFile(to, JSON.stringify(note))
    fsyncFile(to)
  })
}
