import { copyFileSync, readdirSync, statSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { LogCopy, refuseDamage } from "../brokers/embedded/log-copy.ts"
import { HooklineError } from "../errors.ts"
import { exists } from "../process/paths.ts"
import { Application } from "../runtime/application.ts"
import { keptBy, type KeptFile } from "../runtime/kept-files.ts"
import type { Plan } from "../runtime/plan/plan.ts"
import { DatabaseCopy } from "../storage/database-copy.ts"
import { createPrivateFile, makePrivateFolder } from "../storage/private-files.ts"
import { fsyncFile, fsyncFolder } from "../storage/fsync.ts"
import { ELSEWHERE, writingInto } from "../storage/writing-into.ts"
import { writeManifest, type BackupFile } from "./backup-manifest.ts"
import type { StateFlags } from "./common-flags.ts"
import { startProgressBar } from "./progress-bar.ts"
import { stateFolder } from "./state-folder.ts"
import { printTable } from "./table.ts"

/*
 * A backup is of one moment: `begin` of all files is repeated until none was changed before the last of them had begun. Under
 * a load that permits no such moment, their order keeps a restored set from losing anything: positions, offsets and dedupe
 * keys are those of records that the logs and spools have, since they were fixed before. A retry may be doubled then.
 */

/** About a millisecond each. */
const MOST_TRIES = 100

/** Copies what the configuration's pipelines store. @throws HooklineError `config`, `usage`, `no_input`, `log_io` */
export function backUpLogs(folder: string, flags: StateFlags): void {
  const app = Application.fromFile(flags.config)
  const plan = app.plan()
  const target = checkEmpty(resolve(folder))
  const sources = keptBy(plan, stateFolder(app, flags.state))
  if (sources.length === 0)
    throw new HooklineError("no_input", "there is nothing to back up: no log, spool or position exists yet")
  const made = new Date().toISOString()
  const files = writingInto(target, ELSEWHERE, () => copyAll(plan, sources, { target, made }))
  const sized = files.map((one) => ({ ...one, bytes: statSync(join(target, one.file)).size }))
  if (flags.json === true) return console.log(JSON.stringify({ folder: target, made, files: sized }, null, 2))
  const rows = sized.map(({ file, bytes, from }) => [file, `${bytes}`, from])
  printTable([["FILE", "BYTES", "FROM"], ...rows], [0, 2])
}

function copyAll(
  plan: Plan,
  sources: readonly KeptFile[],
  { target, made }: { readonly target: string; readonly made: string },
): readonly BackupFile[] {
  for (const { name } of sources) makePrivateFolder(dirname(join(target, name)))
  const texts = sources.flatMap(({ kind, path, name, location }) =>
    location === undefined ? copyPlain(kind, path, target, name) : [],
  )
  const files: BackupFile[] = [
    ...texts,
    ...copyDatabases(sources, target),
    ...secretFiles(plan).map((from, at) =>
      copyPlain("secret", from, target, `secrets/${at + 1}-${basename(from)}`),
    ),
  ]
  writeManifest(target, { made, files })
  for (const one of foldersOf(target, files)) fsyncFolder(one)
  return files
}

/** @returns the folder, which does not exist or is empty @throws HooklineError `usage` */
export function checkEmpty(folder: string): string {
  if (exists(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0))
    throw new HooklineError("usage", `${folder} is not empty; name a new folder`)
  return folder
}

function copyDatabases(kept: readonly KeptFile[], target: string): BackupFile[] {
  using copies = new DisposableStack()
  const sources = kept.flatMap(({ kind, location, name }) =>
    location === undefined ? [] : [{ kind, location, to: join(target, name), name }],
  )
  const logs: LogCopy[] = []
  const all = sources.map(({ location, to }) => {
    if (location.kind !== "log") return copies.use(new DatabaseCopy(location, to))
    const log = copies.use(new LogCopy(dirname(location.file), to, "backup"))
    logs.push(log)
    return log.source
  })
  beginAtOnce(all)
  // first, so that the writers' WALs can be reset
  for (const log of logs) log.copyTables()
  const sizes = sources.map(({ location }) => (location.kind === "log" ? 0 : statSync(location.file).size))
  const total = [...sizes, ...logs.map(({ bytes }) => bytes)].reduce((sum, bytes) => sum + bytes, 0)
  using bar = startProgressBar(total, (_, timing) => timing)
  for (const [at, copy] of all.entries()) {
    if (copy.location.kind === "log") continue
    copy.copyTables()
    copy.end()
    copy.close()
    bar?.increment(sizes[at]!)
  }
  for (const log of logs) {
    log.copyRecords((bytes) => bar?.increment(bytes), refuseDamage(dirname(log.source.location.file)))
    log.close()
  }
  bar?.stop()
  return sources.map(({ kind, location: { file: from }, name: file }) => ({
    kind,
    file,
    from: resolve(from),
  }))
}

function beginAtOnce(copies: readonly DatabaseCopy[]): void {
  for (let tries = 0; ; tries++) {
    for (const copy of copies) copy.begin()
    if (tries === MOST_TRIES || copies.slice(0, -1).every((copy) => copy.isCurrent)) return
    for (const copy of copies) copy.giveUp()
  }
}

/** Secrets that providers have sent. */
const secretFiles = ({ pipelines }: Plan): string[] => {
  const named = pipelines.flatMap(({ processors }) =>
    processors.flatMap((one) => (typeof one === "function" ? [] : (one.values["secret_file"] ?? []))),
  )
  return [...new Set(named as string[])].filter((file) => exists(file))
}

function copyPlain(kind: BackupFile["kind"], from: string, target: string, file: string): BackupFile {
  const to = join(target, file)
  makePrivateFolder(dirname(to))
  createPrivateFile(to, "")
  copyFileSync(from, to)
  fsyncFile(to)
  return { kind, file, from: resolve(from) }
}

/** Each folder of the copied files, up to the backup's. */
function foldersOf(target: string, files: readonly BackupFile[]): string[] {
  const folders = new Set<string>([target])
  for (const { file } of files)
    for (let path = dirname(join(target, file)); path !== target; path = dirname(path)) folders.add(path)
  return [...folders]
}
