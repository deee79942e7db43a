import { chownSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Glob, SQL } from "bun"
import { endingWithThisProcess, untilAnswers } from "./child.ts"
import { freePort } from "./ports.ts"
import { lacks } from "./tools.ts"

/** A PostgreSQL of a test's own, which trusts everybody on the loopback address. Disposing of it ends it. */
export interface Postgres extends AsyncDisposable {
  readonly url: string
  /** Takes TLS as well, with this certificate and key (PEM). */
  useTls(certificate: string, key: string): Promise<void>
  start(): void
  /** Resolves when it takes connections. */
  answers(): Promise<void>
  /** Ends all of its processes in the middle of what they do: the log is recovered at the next start. */
  kill(): Promise<void>
  /** Stops all of its processes where they are, or lets them go on. */
  signalAll(signal: "SIGSTOP" | "SIGCONT"): void
  /** Sets what `postgresql.conf` has, and has it read; null: its default. */
  set(name: string, value: string | null): Promise<void>
}

/** Debian keeps it out of the way, by release. */
const INITDB =
  Bun.which("initdb") ??
  [...new Glob("usr/lib/postgresql/*/bin/initdb").scanSync({ cwd: "/", absolute: true })].toSorted().at(-1)

/** Whether `makePostgres` can work here; if not, as `hasTools`. */
export const hasPostgres = (): boolean => INITDB !== undefined || lacks("no initdb", ["postgresql"])

/**
 * A PostgreSQL whose files are there, and which does not run yet.
 *
 * @param primary one that runs: the new one is its standby, `standby` by name
 */
export async function makePostgres(primary?: Postgres): Promise<Postgres> {
  if (INITDB === undefined) throw new Error("there is no initdb; ask hasPostgres first")
  const data = mkdtempSync(join(tmpdir(), "hookline-postgres-"))
  // it refuses to run as root
  const user = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
  if (user.length > 0) chownSync(data, 65_534, 65_534)
  const port = await freePort()
  const flags = ["-D", data, "-c", `port=${port}`, "-c", "listen_addresses=127.0.0.1", "-k", data]
  const made = Bun.spawnSync([...user, ...makingFiles(data, primary)], { cwd: data })
  if (!made.success) throw new Error(`its files could not be made: ${made.stderr.toString()}`)
  const command = endingWithThisProcess(...user, join(dirname(INITDB), "postgres"), ...flags)
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  let server: Bun.Subprocess | undefined
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    server?.kill(signal)
    await server?.exited
  }
  const set = async (name: string, value: string | null): Promise<void> => {
    await query(url, value === null ? `ALTER SYSTEM RESET ${name}` : `ALTER SYSTEM SET ${name} = '${value}'`)
    await query(url, "SELECT pg_reload_conf()")
  }
  return {
    url,
    async useTls(certificate, key) {
      for (const [name, pem] of [
        ["server.crt", certificate],
        ["server.key", key],
      ] as const) {
        const file = join(data, name)
        writeFileSync(file, pem, { mode: 0o600 })
        if (user.length > 0) chownSync(file, 65_534, 65_534)
      }
      await set("ssl", "on")
    },
    start: () => (server = Bun.spawn(command, { cwd: data, stderr: "ignore" })),
    answers: async () => {
      const asks = async (): Promise<boolean> => (await query(url, "SELECT 1")).length === 1
      await untilAnswers(server!, asks)
    },
    kill: () => end("SIGQUIT"),
    signalAll(signal) {
      const children = readFileSync(`/proc/${server!.pid}/task/${server!.pid}/children`, "utf8")
      for (const pid of [`${server!.pid}`, ...children.trim().split(" ")]) process.kill(Number(pid), signal)
    },
    set,
    async [Symbol.asyncDispose]() {
      await end("SIGINT")
      rmSync(data, { recursive: true })
    },
  }
}

function makingFiles(data: string, primary: Postgres | undefined): string[] {
  if (primary === undefined) return [INITDB!, "-D", data, "-U", "test", "--auth=trust"]
  const from = `${primary.url}?application_name=standby`
  // initdb may be a link to where the others are
  return [
    join(dirname(realpathSync(INITDB!)), "pg_basebackup"),
    "-D",
    data,
    "-d",
    from,
    "-R",
    "-X",
    "stream",
    "-c",
    "fast",
  ]
}

/** The rows that a statement has, by a connection of its own. */
export async function query<Row = { [column: string]: unknown }>(url: string, text: string): Promise<Row[]> {
  const sql = new SQL(url, { max: 1 })
  try {
    return [...((await sql.unsafe(text)) as Row[])]
  } finally {
    await sql.close()
  }
}
