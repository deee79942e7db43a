import { endingWithThisProcess } from "./child.ts"

/** Another process that holds the write lock of an SQLite file, as a `BEGIN IMMEDIATE` in a shell of somebody's would. */
export interface LockHolder {
  readonly pid: number
  /** Ends the process; resolves when the lock is free. */
  release(): Promise<void>
}

const SCRIPT = `import { Database } from "bun:sqlite"
const db = new Database(process.argv[1], { readwrite: true })
db.run("PRAGMA busy_timeout = 5000")
db.run("BEGIN IMMEDIATE")
console.log("held")
await Bun.stdin.text()
db.close()`

/** Resolves when the lock is held. */
export async function holdWriteLock(file: string): Promise<LockHolder> {
  const child = Bun.spawn(endingWithThisProcess(process.execPath, "-e", SCRIPT, file), {
    stdin: "pipe",
    stderr: "inherit",
  })
  const { value } = await child.stdout.getReader().read()
  if (value === undefined) throw new Error(`the write lock of ${file} can't be held`)
  return {
    pid: child.pid,
    async release() {
      child.kill()
      await child.exited
    },
  }
}
