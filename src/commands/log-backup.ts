import { copyFileSync, readdirSync, statSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { LogCopy, refuseDamage } from "../brokers/embedded/log-copy.ts"
import { dedupeFileIn } from "../dedupe/key-database.ts"
import { locate } from "../dedupe/location.ts"
import { HooklineError } from "../errors.ts"
import { exists } from "../process/paths.ts"
import { namesIn, positionFile } from "../replay/positions.ts"
import { Application } from "../runtime/application.ts"
import type { Plan } from "../runtime/plan/plan.ts"
import { DatabaseCopy } from "../storage/database-copy.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { createPrivateFile, makePrivateFolder } from "../storage/private-files.ts"
import { fsyncFile, fsyncFolder } from "../storage/fsync.ts"
import { ELSEWHERE, writingInto } from "../storage/writing-into.ts"
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
export const MANIFEST = "backup.json"

/** A file of a backup. */
export interface BackupFile {
  readonly kind: DatabaseLocation["kind"] | "secret"
  /** The path in the backup's folder. */
  readonly file: string
  /** Where it was, absolute. */
  readonly from: string
}

interface Source {
  readonly location: DatabaseLocation
  readonly file: string
}

/** Copies what the configuration's pipelines store. @throws HooklineError `config`, `usage`, `no_input`, `log_io` */
export function backUpLogs(folder: string, flags: StateFlags): void {
  const app = Application.fromFile(flags.config)
  const plan = app.plan()
  const target = checkEmpty(resolve(folder))
  const sources = sourcesOf(plan, stateFolder(app, flags.state))
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
  sources: readonly Source[],
  { target, made }: { readonly target: string; readonly made: string },
): readonly BackupFile[] {
  for (const { file } of sources) makePrivateFolder(dirname(join(target, file)))
  const files: BackupFile[] = [
    ...copyDatabases(sources, target),
    ...secretFiles(plan).map((from, at) => copySecret(from, target, `secrets/${at + 1}-${basename(from)}`)),
  ]
  createPrivateFile(join(target, MANIFEST), `${JSON.stringify({ made, files }, null, 2)}\n`)
  fsyncFile(join(target, MANIFEST))
  for (const one of foldersOf(target, files)) fsyncFolder(one)
  return files
}

/** @returns the folder, which does not exist or is empty @throws HooklineError `usage` */
export function checkEmpty(folder: string): string {
  if (exists(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0))
    throw new HooklineError("usage", `${folder} is not empty; name a new folder`)
  return folder
}

/** The files to copy, in the order in which they are fixed. */
function sourcesOf({ connections, pipelines, baseDir }: Plan, state: string): Source[] {
  const own: Source[] = []
  const keyFolders = new Map<string, string>()
  for (const [id, { kind, values }] of connections) {
    for (const { path, database: location } of kind.files?.(values) ?? [])
      if (location !== undefined) own.push({ location, file: `${id}/${basename(path)}` })
    const folder = kind.logFolder?.(values)
    if (folder !== undefined) keyFolders.set(resolve(folder), id)
  }
  const logs = own.filter(({ location }) => location.kind === "log")
  const others = own.filter(({ location }) => location.kind !== "log" && location.kind !== "spool")
  const spools = own.filter(({ location }) => location.kind === "spool")
  for (const { id, processors } of pipelines)
    for (const one of processors) {
      if (typeof one === "function") continue
      const { store } = one.component.store?.(one.values as never) ?? { store: "embedded" }
      const at = locate(store, { pipeline: id, logDirectory: undefined, baseDir })
      if (at.kind !== "embedded" || keyFolders.has(at.directory)) continue
      if (exists(dedupeFileIn(at.directory).file))
        keyFolders.set(at.directory, `dedupe-${keyFolders.size - logs.length + 1}`)
    }
  const positions = (["replay", "forward"] as const).flatMap((kind) =>
    namesIn(state, kind).map((name) => ({
      location: positionFile(state, kind, name),
      file: `state/${kind}s/${name}.sqlite`,
    })),
  )
  const keys = [...keyFolders].map(([at, name]) => ({
    location: dedupeFileIn(at),
    file: `${name}/marks.sqlite`,
  }))
  return [...positions, ...others, ...keys, ...spools, ...logs].filter(({ location }) =>
    exists(location.file),
  )
}

function copyDatabases(sources: readonly Source[], target: string): BackupFile[] {
  using copies = new DisposableStack()
  const logs: LogCopy[] = []
  const all = sources.map(({ location, file }) => {
    const to = join(target, file)
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
  const bar = startProgressBar(total, {
    format: "{bar} {percentage}% | {duration_formatted}, {eta_formatted} to go",
  })
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
  return sources.map(({ location: { kind, file: from }, file }) => ({ kind, file, from: resolve(from) }))
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

function copySecret(from: string, target: string, file: string): BackupFile {
  const to = join(target, file)
  makePrivateFolder(dirname(to))
  createPrivateFile(to, "")
  copyFileSync(from, to)
  fsyncFile(to)
  return { kind: "secret", file, from: resolve(from) }
}

const foldersOf = (target: string, files: readonly BackupFile[]): string[] => [
  ...new Set(
    [...files.map(({ file }) => dirname(join(target, file))), join(target, "state"), target].filter(exists),
  ),
]
