import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { skipsFor } from "./tools.ts"

/** A file system of a few MiB that a test can fill. */
export interface SmallDisk extends Disposable {
  readonly path: string
  /** Takes all space but so many bytes. */
  fill(leftBytes: number): void
  /** Gives the space back. */
  free(): void
  makeReadOnly(): void
}

/**
 * Mounts a tmpfs on a folder, which is made. Undefined where that is not permitted, which is recorded.
 *
 * @param inodes of it and its files; 0: any number
 */
export function mountSmallDisk(path: string, mebibytes = 8, inodes = 0): SmallDisk | undefined {
  mkdirSync(path)
  const options = `size=${mebibytes}m,nr_inodes=${inodes}`
  const mount = ["mount", "-t", "tmpfs", "-o", options, "hookline-test", path]
  if (process.platform !== "linux" || !Bun.spawnSync(mount, { stderr: "ignore" }).success) {
    skipsFor("mounting a tmpfs is not permitted")
    return undefined
  }
  const ballast = join(path, "ballast")
  return {
    path,
    fill(leftBytes) {
      const { bavail, bsize } = statfsSync(path)
      try {
        writeFileSync(ballast, Buffer.alloc(bavail * bsize - leftBytes))
      } catch (error) {
        // what others write meanwhile takes space, too
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error
      }
    },
    free: () => rmSync(ballast),
    makeReadOnly: () => void Bun.spawnSync(["mount", "-o", "remount,ro", path]),
    [Symbol.dispose]: () => void Bun.spawnSync(["umount", "-l", path]),
  }
}
