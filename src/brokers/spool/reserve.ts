import { randomFillSync } from "node:crypto"
import { rmSync, statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { createPrivateFile } from "../../storage/private-files.ts"

/** What deleting needs on a full disk: the WAL takes some pages before those that it frees can be used again. */
const RESERVE_BYTES = 8 * 1024 * 1024

/**
 * Space for a spool on a full disk, where records can't even be deleted: a file next to it (`<file>.reserve`) that makes way
 * then. It is used in the thread that has the spool open.
 */
export class Reserve {
  readonly #path: string

  constructor(file: string) {
    this.#path = `${file}.reserve`
  }

  get exists(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.size === RESERVE_BYTES
  }

  /** Makes it when the disk has space for as much again. @returns whether it exists. Throws as node:fs but for a full disk */
  makeAgain(): boolean {
    const { bavail, bsize } = statfsSync(dirname(this.#path))
    return bavail * bsize >= 2 * RESERVE_BYTES && this.make()
  }

  /** Writes bytes that no file system makes smaller. As `makeAgain`. */
  make(): boolean {
    try {
      this.remove()
      createPrivateFile(this.#path, randomFillSync(Buffer.alloc(RESERVE_BYTES)))
      return true
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error
      this.remove()
      return false
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true })
  }
}
