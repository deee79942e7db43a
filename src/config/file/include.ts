import { Glob } from "bun"
import { readdirSync } from "node:fs"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"
import type { Steps } from "../../clock/slices.ts"
import { whyUnreadable } from "../../process/paths.ts"
import { answering, readRegularFile } from "../../process/regular-file.ts"
import { slipOfPath } from "../options/slips.ts"
import type { IniSection } from "./ini.ts"
import { filesIn, type Environment } from "./interpolate.ts"
import type { Place, Problems } from "./problems.ts"

/** A file that another includes. */
export interface IncludedFile {
  /** The name that messages use, spelled like that of the including file. */
  readonly file: string
  /** Absolute. */
  readonly path: string
  /** Absolute path of its folder. */
  readonly baseDir: string
}

/** `reads` is called for each folder listed, too. */
type Including = Pick<Environment, "baseDir" | "reads"> & {
  readonly file: string
  /** Whether messages may quote the text. */
  readonly isQuotable: boolean
}

const WILDCARD = /[*?[\]{}]/
/** Between items: a comma in braces belongs to its pattern. */
const SEPARATOR = /\n|,(?![^{]*\})/

/**
 * The files that `include` names, each once: names as they stand, the files of a pattern sorted. A pattern such as
 * `teams.d/*.conf` has wildcards in the file's name alone, and matches no hidden file; one that matches nothing is a
 * warning.
 *
 * @param text a list, by comma or line
 * @param place of the key
 */
export function* filesOf(
  text: string,
  { file, baseDir, reads, isQuotable }: Including,
  place: Place,
  problems: Problems,
): Steps<IncludedFile[]> {
  const found = new Map<string, IncludedFile>()
  const add = (name: string): void => {
    const path = resolve(baseDir, name)
    const shown = isAbsolute(name) ? name : join(dirname(file), name)
    if (path === resolve(baseDir, basename(file)))
      problems.add(place, `includes the file itself; keep included files in a folder, such as teams.d/*.conf`)
    else if (!found.has(path)) found.set(path, { file: shown, path, baseDir: dirname(path) })
  }
  const items = text.split(SEPARATOR).flatMap((it) => it.trim() || [])
  if (items.length === 0)
    problems.add(place, "is empty; name files, such as teams.d/*.conf, or remove the key")
  for (const item of items) {
    const slip = slipOfPath(item)
    if (slip !== undefined && isQuotable)
      problems.add(place, `${JSON.stringify(item)} ${slip.what}; ${slip.remedy}`)
    else if (slip !== undefined)
      problems.add(place, `its value ${slip.what}; ${slip.hiddenRemedy ?? slip.remedy}`)
    else if (!WILDCARD.test(item)) add(item)
    else if (WILDCARD.test(dirname(item)))
      problems.add(
        place,
        `${JSON.stringify(item)} has a wildcard in a folder's name; the file's name may have one`,
      )
    else {
      const folder = resolve(baseDir, dirname(item))
      yield* answering([folder])
      const names = namesIn(folder, basename(item), reads)
      if (typeof names === "string")
        problems.add(place, `the folder ${dirname(item)} ${names}`, "file_unreadable")
      else if (names.length === 0) problems.warn(place, `${item} matches no file`)
      else for (const name of names) add(join(dirname(item), name))
    }
  }
  return [...found.values()]
}

/** The names in a folder that match, sorted; none where there is no folder; a text: why it can't be listed. */
function namesIn(folder: string, pattern: string, reads: Including["reads"]): string[] | string {
  reads?.(folder)
  const glob = new Glob(pattern)
  try {
    return readdirSync(folder)
      .filter((name) => glob.match(name) && (pattern.startsWith(".") || !name.startsWith(".")))
      .toSorted()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT") return []
    return code === "ENOTDIR" ? "is not a folder" : whyUnreadable(error)
  }
}

/** The bytes of an included file; a text: why it can't be read. */
export function* readSource({ path }: IncludedFile, reads: Including["reads"]): Steps<Uint8Array | string> {
  yield* answering([path])
  reads?.(path)
  try {
    return readRegularFile(path)
  } catch (error) {
    return `the included file ${whyUnreadable(error)}`
  }
}

/** The files that values refer to by `${file:}`, by absolute path. */
export function* filesOfValues(
  sections: Iterable<IniSection>,
  source: Pick<Environment, "baseDir">,
): Steps<ReadonlySet<string>> {
  const files = new Set<string>()
  for (const { entries } of sections) {
    yield
    for (const { lines } of entries.values())
      for (const { text } of lines) for (const file of filesIn(text, source)) files.add(file)
  }
  return files
}
