import { HooklineError } from "../errors.ts"
import { isDiskFull } from "./database-file.ts"
import { lacksInodes, NO_INODES } from "./inodes.ts"

/**
 * Runs what writes a file, or files into a folder, and names it where its disk takes no more.
 *
 * @param advice what to do then
 * @throws HooklineError `log_io`
 */
export function writingInto<T>(path: string, advice: string, write: () => T): T {
  try {
    return write()
  } catch (cause) {
    const full = whyFull(path, cause)
    if (full === undefined) throw cause
    throw new HooklineError("log_io", `${path} is not complete: ${full}; ${advice}`, { cause })
  }
}

export const ELSEWHERE = "delete it, and name a folder where there is space"

/** What a disk has too little of; undefined: something else has failed. */
function whyFull(folder: string, error: unknown): string | undefined {
  if (!isFull(error)) return undefined
  // SQLite says only that it can't open a file
  if (lacksInodes(folder)) return NO_INODES
  return isDiskFull(error) || isDiskFull((error as Error).cause) ? "its disk is full" : undefined
}

const isFull = (error: unknown): error is Error =>
  error instanceof Error &&
  [error, error.cause].some(
    (it) => isDiskFull(it) || (it as { code?: unknown } | undefined)?.code === CANTOPEN,
  )

const CANTOPEN = "SQLITE_CANTOPEN"
