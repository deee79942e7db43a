import { closeSync, fsyncSync, openSync } from "node:fs"
import { dirname, resolve } from "node:path"

/** Makes the content of a file durable, not its name. @throws Error of node:fs */
export function fsyncFile(file: string): void {
  const descriptor = openSync(file, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes the names in a folder durable. */
export function fsyncFolder(folder: string): void {
  let descriptor: number | undefined
  try {
    descriptor = openSync(folder, "r")
    fsyncSync(descriptor)
  } catch (error) {
    // some network file systems have no fsync of folders, and a writable folder need not be readable
    if (!["EINVAL", "ENOTSUP", "EACCES"].includes((error as { code?: string }).code ?? "")) throw error
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Makes the names of new folders durable, from `first` down to `last`. */
export function fsyncParents(first: string, last: string): void {
  const top = dirname(resolve(first))
  for (let folder = dirname(resolve(last)); folder.length >= top.length; folder = dirname(folder)) {
    fsyncFolder(folder)
    if (folder === top) return
  }
}
