import { statfsSync } from "node:fs"
import { dirname } from "node:path"

/** Whether the file system of a path, or of the folder above it that exists, has no inode left for another file. */
export function lacksInodes(path: string): boolean {
  try {
    const { files, ffree } = statfsSync(path)
    // some count none
    return files > 0 && ffree === 0
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === "ENOENT" && dirname(path) !== path && lacksInodes(dirname(path))
  }
}

export const NO_INODES = "its file system has no inodes left, which each file takes one of"
