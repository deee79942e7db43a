import { endingWithThisProcess } from "./child.ts"

/** A process that reads from a database, and was stopped in the middle of it: its transaction stays open. */
export interface StoppedReader extends AsyncDisposable {
  readonly pid: number
}

const READING = `
  import { Database } from "bun:sqlite"
  const db = new Database(process.argv.at(-1))
  db.run("BEGIN")
  db.query("SELECT count(*) FROM sqlite_schema").get()
  process.stdout.write("reading")
  setInterval(() => db.inTransaction, 1000) // what nobody refers to is closed
`

/** Starts a reader of a database's file, and stops it with SIGSTOP once it has its snapshot. */
export async function stopReader(file: string): Promise<StoppedReader> {
  const child = Bun.spawn(endingWithThisProcess(process.execPath, "-e", READING, "--", file), {
    stdout: "pipe",
    stderr: "inherit",
  })
  const { done } = await child.stdout.getReader().read()
  if (done) throw new Error(`no reader of ${file} could be started`)
  child.kill("SIGSTOP")
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await child.exited
    },
  }
}
