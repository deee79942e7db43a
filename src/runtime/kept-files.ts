import { readdirSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { serviceStoreIn } from "../admin/store/service-database.ts"
import { groupsIn } from "../brokers/embedded/group-database.ts"
import { spoolAt } from "../brokers/spool/spool-database.ts"
import { dedupeFileIn } from "../dedupe/key-database.ts"
import { DEFAULT_FOLDER, locate } from "../dedupe/location.ts"
import { HooklineError } from "../errors.ts"
import { extensions } from "../extensions/registry.ts"
import { exists, whyUnreadable } from "../process/paths.ts"
import { positionFile, type PositionKind } from "../replay/positions.ts"
import { refuseHalfRestored } from "../storage/half-restored.ts"
import { logIn, type DatabaseKind, type DatabaseLocation } from "../storage/database-file.ts"
import { sectionFolder } from "../extensions/owned-section.ts"
import type { Plan } from "./plan/plan.ts"
import { serviceFolder } from "./service-store.ts"

/*
 * All that is kept on disk, in one list: what a backup, a restore, a rescue and `log check` go through. Beside a log lies what
 * refers to its records:
 *
 *   log.sqlite                         the log
 *   groups.sqlite                      offsets of its consumer groups
 *   marks.sqlite                       dedupe keys of its records
 *   forwards/<id>.sqlite               positions and refused records of forwards; so are handlers/ and replays/
 *
 * and the files of extensions. Beside the configuration file lies, in .hookline,
 *
 *   service.sqlite                     what of the service refers to no record: what was acknowledged and told
 *
 * Each lies in a log's folder or, where the configuration says so, in another. A spool lies where its connection names it.
 */

/** Those of extensions have kinds of their own. */
export type KeptKind = Exclude<DatabaseKind, "writer lock"> | (string & {})

export interface KeptFile {
  readonly kind: KeptKind
  readonly path: string
  /** Within its folder. */
  readonly name: string
  /** undefined: it is no database, and may be copied as it is. */
  readonly location: DatabaseLocation | undefined
}

interface Place {
  readonly kind: KeptKind
  readonly pattern: RegExp
  /** @param name what the pattern's groups match */
  readonly locate?: (folder: string, ...names: string[]) => DatabaseLocation
}

const ofExtensions = extensions.flatMap(({ files }) => files)

/** In the order in which a backup fixes them: the log last, so that none is ahead of it. */
const PLACES: readonly Place[] = [
  ...ofExtensions.filter(({ database }) => database === undefined),
  {
    kind: "position file",
    pattern: /^(replay|forward|handler)s\/([^/]+)\.sqlite$/,
    locate: (folder, kind, name) => positionFile(folder, kind as PositionKind, name!),
  },
  ...ofExtensions.flatMap(({ kind, pattern, database }) =>
    database === undefined ? [] : { kind, pattern, locate: database.locate },
  ),
  { kind: "service store", pattern: /^service\.sqlite$/, locate: serviceStoreIn },
  { kind: "group store", pattern: /^groups\.sqlite$/, locate: groupsIn },
  { kind: "dedupe store", pattern: /^marks\.sqlite$/, locate: dedupeFileIn },
  { kind: "spool", pattern: /^$/ },
  { kind: "log", pattern: /^log\.sqlite$/, locate: logIn },
]

const ORDER = PLACES.map(({ kind }) => kind)

/** Folders within a log's folder that may have such files. */
const hasKept = (name: string): boolean =>
  ["forwards", "handlers", "replays"].includes(name) ||
  ofExtensions.some(({ folders }) => folders?.test(name) === true)

/** What a folder keeps, in the order in which a backup fixes it. @throws HooklineError `no_input`, `log_io` amid a restore */
export function keptIn(folder: string): readonly KeptFile[] {
  refuseHalfRestored(logIn(folder).file)
  const names = pathsIn(folder, "")
  const inner = names.filter(hasKept).flatMap((name) => pathsIn(folder, name))
  return inOrder([...names, ...inner].flatMap((name) => keptAt(folder, name) ?? []))
}

/** Where a file that was kept at a path is locked; undefined: it is no database. */
export function locationOf(kind: KeptKind, path: string): DatabaseLocation | undefined {
  if (kind === "spool") return spoolAt(path)
  for (const folder of [dirname(path), dirname(dirname(path))]) {
    const kept = keptAt(folder, path.slice(folder.length + 1))
    if (kept?.kind === kind) return kept.location
  }
  return undefined
}

/** What a configuration keeps, each file with a name of its own. @param state the folder of positions that commands keep */
export function keptBy(plan: Plan, state: string): readonly KeptFile[] {
  const { connections, baseDir } = plan
  const folders = new Map<string, string>()
  const name = (folder: string, as: string): void => {
    if (!folders.has(resolve(folder))) folders.set(resolve(folder), as)
  }
  const spools: KeptFile[] = []
  for (const [id, { kind, values }] of connections) {
    const folder = kind.logFolder?.(values)
    if (folder !== undefined) name(folder, id)
    for (const { path, database: location } of kind.files?.(values) ?? [])
      if (location?.kind === "spool" && isKept(path))
        spools.push({ kind: "spool", path: resolve(path), name: `${id}/${basename(path)}`, location })
  }
  name(state, "state")
  for (const [at, folder] of otherFolders(plan).entries()) name(folder, `other-${at + 1}`)
  // that of sections in this file
  name(serviceFolder(baseDir), "sections")
  const inFolders = [...folders].flatMap(([folder, as]) =>
    keptIn(folder).map((file) => ({ ...file, name: `${as}/${file.name}` })),
  )
  return inOrder([...inFolders, ...spools])
}

function isKept(path: string): boolean {
  refuseHalfRestored(path)
  return exists(path)
}

const inOrder = (files: readonly KeptFile[]): readonly KeptFile[] =>
  files.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))

/** Those of keys and sections that are not in a log's folder. */
function otherFolders({
  connections,
  pipelines,
  forwards,
  extensions: planned,
  baseDir,
}: Plan): readonly string[] {
  const ofKeys = pipelines.flatMap(({ id, processors }) =>
    processors.flatMap((one) => {
      if (typeof one === "function") return []
      const { store } = one.component.store?.(one.values as never) ?? { store: "embedded" }
      const at = locate(store, { pipeline: id, logDirectory: undefined, baseDir })
      return at.kind === "embedded" ? at.directory : []
    }),
  )
  const keeping = extensions.filter(({ files }) => files.length > 0)
  const sections = keeping.flatMap(({ name }) => planned.get(name)!.sections)
  const ofSections = [...forwards, ...sections].map(({ values: { directory } }) =>
    typeof directory === "string" ? directory : join(baseDir, DEFAULT_FOLDER),
  )
  const logs = [...connections.values()].map((connection) => sectionFolder(connection, baseDir))
  const isLogs = (folder: string): boolean => logs.includes(resolve(folder))
  return [...new Set([...ofKeys, ...ofSections].map((it) => resolve(it)))].filter(
    (folder) => !isLogs(folder) && keptIn(folder).length > 0,
  )
}

function keptAt(folder: string, name: string): KeptFile | undefined {
  for (const { kind, pattern, locate: at } of PLACES) {
    const found = pattern.exec(name)
    if (found === null) continue
    return { kind, path: join(folder, name), name, location: at?.(folder, ...found.slice(1)) }
  }
  return undefined
}

/** @returns names in a folder, or in one within it */
function pathsIn(folder: string, within: string): string[] {
  const path = join(folder, within)
  if (!exists(path)) return []
  try {
    return readdirSync(path)
      .map((name) => join(within, name))
      .toSorted()
  } catch (cause) {
    throw new HooklineError("no_input", `${path} ${whyUnreadable(cause)}`, { cause })
  }
}
