import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { untilAnswers } from "./child.ts"
import { skipsFor } from "./tools.ts"

/**
 * Mounts a file system that never answers on a folder, which is made. Undefined where that is not permitted, which is said
 * loudly. Who waits for it is let go when it is left.
 */
export async function mountHungFiles(path: string): Promise<AsyncDisposable | undefined> {
  mkdirSync(path)
  const program = join(import.meta.dir, "hung-files.py")
  const server = Bun.spawn(["python3", program, path], { stdio: ["ignore", "ignore", "pipe"] })
  const isMounted = async (): Promise<boolean> =>
    (await Bun.file("/proc/self/mounts").text()).includes(` ${path} fuse.hung `)
  try {
    await untilAnswers(server, isMounted)
    return {
      async [Symbol.asyncDispose]() {
        server.kill("SIGKILL")
        await server.exited
        Bun.spawnSync(["umount", "--lazy", path])
      },
    }
  } catch {
    skipsFor(`mounting a file system is not permitted: ${await server.stderr.text()}`)
    return undefined
  }
}
