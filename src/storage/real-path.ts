import { realpathSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

/** A path without links, where it exists: two that are equal lead to the same place. */
export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = dirname(resolve(path))
    // missing, or below what can't be entered
    return above === resolve(path) ? above : join(realPath(above), basename(path))
  }
}
