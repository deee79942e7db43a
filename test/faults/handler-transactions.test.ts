import { SQL } from "bun"
import { expect, test } from "bun:test"
import { join } from "node:path"
import { fillLog } from "../support/embedded-log.ts"
import { isFull, KILL_TRIALS as ROUNDS, report } from "../support/fault-table.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { hasPostgres, makePostgres } from "../support/postgres.ts"
import { startCommand } from "../support/running-command.ts"

const EVENTS = isFull ? 10_000 : 400
const KEYS = 20
const PROGRAM = [process.execPath, join(import.meta.dir, "../support/handling-program.ts")]

/** A database that effects are committed to. */
interface Effects {
  readonly url: string
  /** Ends it in the middle of what it does, and starts it again; undefined: it has no process of its own. */
  readonly kill?: () => Promise<void>
}

async function startPostgres(disposing: AsyncDisposableStack): Promise<Effects> {
  const postgres = disposing.use(await makePostgres())
  postgres.start()
  return {
    url: postgres.url,
    async kill() {
      await postgres.kill()
      postgres.start()
    },
  }
}

for (const kind of ["SQLite", "PostgreSQL"])
  test.skipIf(kind === "PostgreSQL" && !hasPostgres())(
    `a handler with transactions of ${kind} that is killed ${ROUNDS} times has each effect exactly once, in order of each key`,
    async () => {
      using folder = temporaryFolder()
      await using disposing = new AsyncDisposableStack()
      const directory = join(folder.path, "log")
      const records = Array.from({ length: EVENTS }, (_, n) => ({
        key: Buffer.from(`k${n % KEYS}`),
        value: Buffer.from(JSON.stringify({ n })),
      }))
      await fillLog(directory, "t", records)
      const isSqlite = kind === "SQLite"
      const effects: Effects = isSqlite
        ? { url: `sqlite://${join(folder.path, "effects.sqlite")}` }
        : await startPostgres(disposing)
      const sql = new SQL(effects.url)
      disposing.defer(() => sql.close())
      if (isSqlite) await sql`PRAGMA journal_mode = WAL`
      if (isSqlite) await sql`PRAGMA busy_timeout = 60000`
      const created = (): Promise<boolean> =>
        sql
          .unsafe(`CREATE TABLE effects (id ${isSqlite ? "INTEGER" : "SERIAL"} PRIMARY KEY, n INTEGER)`)
          .then(
            () => true,
            () => false,
          )
      await until("the database answers", created)
      let last = 0
      /** How many effects there are; while the database starts, how many there were. */
      const count = async (): Promise<number> => {
        const rows = (await sql`SELECT count(*) AS n FROM effects`.catch(() => [])) as { n: number }[]
        return (last = Number(rows[0]?.n ?? last))
      }
      for (let round = 0; (await count()) < EVENTS; round++) {
        await using child = startCommand([directory, effects.url], folder.path, { program: PROGRAM })
        const more = round < ROUNDS ? last + 1 + Math.random() * (EVENTS / ROUNDS) : EVENTS
        await until("handled", async () => (await count()) >= Math.min(more, EVENTS))
        if (round < ROUNDS && round % 4 === 1 && effects.kill !== undefined) {
          await effects.kill()
          await until("handled", async () => (await count()) > Math.min(more, EVENTS - 1))
        }
        child.signal("SIGKILL")
        await child.exited
      }
      let rows: { n: number }[] = []
      // one that was killed last may be starting still
      const read = async (): Promise<boolean> => {
        rows = (await sql`SELECT n FROM effects ORDER BY id`.catch(() => [])) as { n: number }[]
        return rows.length > 0
      }
      await until("the database answers", read)
      const all = rows.map(({ n }) => n)
      const distinct = new Set(all).size
      report(`A handler with transactions of ${kind}, killed ${ROUNDS} times`, {
        sent: EVENTS,
        acknowledged: EVENTS,
        found: distinct,
        lost: EVENTS - distinct,
        doubled: all.length - distinct,
        longestWaitMs: undefined,
      })
      expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: EVENTS }, (_, n) => n))
      for (const ofKey of Map.groupBy(all, (n) => n % KEYS).values())
        expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b))
    },
    isFull ? 1_200_000 : 300_000,
  )
