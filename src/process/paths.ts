import { accessSync, constants, lstatSync, readFileSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { HooklineError } from "../errors.ts"

/*
 * What keeps a path from being used. A path that this user may not look up may well exist: `existsSync` says that it does
 * not.
 */

/** @throws HooklineError `no_input` where this user can't tell: a folder above it can't be entered */
export function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOTDIR") return false
    throw new HooklineError("no_input", `${path} can't be opened: ${whyRefused(cause, path)}`, { cause })
  }
}

/** Why a file can't be read, to follow its name. */
export function whyUnreadable(error: unknown): string {
  const { code, path } = error as NodeJS.ErrnoException
  switch (code) {
    case "ENOENT":
      return "does not exist"
    case "EACCES":
    case "EPERM":
      return path === undefined
        ? "is not readable by this user"
        : `is not readable: ${whyRefused(error, path)}`
    case "ENOTREG":
      return (error as Error).message
    case "EISDIR":
      return "is a folder"
    case "ERR_ENCODING_INVALID_ENCODED_DATA":
      return "is not UTF-8"
    default:
      return `can't be read: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Why the system does not let this user open or make a path, and what to do. Without a permission, who has it is named. */
export function whyRefused(error: unknown, path: string): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === "EROFS") return "it is on a read-only file system"
  if (code === "ENAMETOOLONG") return "its name is too long"
  if (code !== "EACCES" && code !== "EPERM") return message
  const user = nameOf(process.geteuid!())
  const barrier = barrierOn(resolve(path))
  const { uid, mode } = statSync(barrier)
  const owner = nameOf(uid)
  const held = `${barrier} belongs to ${owner}, with mode ${(mode & 0o7777).toString(8).padStart(4, "0")}`
  const remedy =
    owner === user ? "change its mode" : `run this as ${owner}, or give ${user} access with chown or chmod`
  return `no permission for ${user}: ${held}; ${remedy}`
}

/** The first folder on the way to a path that can't be entered; else the path, or the last folder that there is. */
function barrierOn(path: string): string {
  const above = dirname(path)
  if (above === path) return path
  const barrier = barrierOn(above)
  if (barrier !== above || !isEnterable(above)) return barrier
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? above : path
}

function isEnterable(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** `user hookline`; of one that only a directory service knows, `uid 1234`. */
function nameOf(uid: number): string {
  const found = readUsers().find((line) => line.split(":")[2] === `${uid}`)
  return found === undefined ? `uid ${uid}` : `user ${found.split(":")[0]}`
}

function readUsers(): readonly string[] {
  try {
    return readFileSync("/etc/passwd", "utf8").split("\n")
  } catch {
    // an image without users
    return []
  }
}
