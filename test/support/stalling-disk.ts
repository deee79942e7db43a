import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { skipsFor } from "./tools.ts"

/** A file system that a test can make wait. */
export interface StallingDisk extends Disposable {
  readonly path: string
  /** From now on whoever writes to it waits. */
  stall(): void
  /** Lets all writes continue. Leaving a stalled disk behind would leave processes behind that can't be ended. */
  goOn(): void
}

const MEBIBYTES = 64

/**
 * Mounts an ext4 that lies in a file on a folder, which is made; `fsfreeze` makes it stall. Undefined where that is not
 * permitted, which is said loudly.
 */
export function mountStallingDisk(path: string): StallingDisk | undefined {
  mkdirSync(path)
  const image = `${path}.img`
  writeFileSync(image, "")
  truncateSync(image, MEBIBYTES * 1024 * 1024)
  const isMounted =
    process.platform === "linux" &&
    ["mkfs.ext4", "fsfreeze"].every((program) => Bun.which(program) !== null) &&
    run("mkfs.ext4", "-q", image) &&
    run("mount", "-o", "loop", image, path)
  if (!isMounted) {
    rmSync(image)
    skipsFor("mounting a file system is not permitted")
    return undefined
  }
  return {
    path,
    stall: () => must("fsfreeze", "-f", path),
    goOn: () => void run("fsfreeze", "-u", path),
    [Symbol.dispose]() {
      run("fsfreeze", "-u", path)
      must("umount", path)
      rmSync(image)
    },
  }
}

const run = (...command: string[]): boolean =>
  Bun.spawnSync(command, { stdout: "ignore", stderr: "ignore" }).success

function must(...command: string[]): void {
  if (!run(...command)) throw new Error(`${command.join(" ")} failed`)
}
