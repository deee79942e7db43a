import { SQL } from "bun"
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { chownSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import {
  Application,
  brokerSink,
  embeddedConnection,
  memoryConnection,
  Pipeline,
  testHandler,
  webHookSource,
  type Handler,
  type HandledEvent,
  type HandlerOptions,
} from "../../src/index.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { endingWithThisProcess } from "../support/child.ts"
import { freePort } from "../support/ports.ts"
import { until } from "../support/kafka-options.ts"
import { startCommand } from "../support/running-command.ts"
import { fillLog } from "../support/embedded-log.ts"

setDefaultTimeout(60_000)

let folder: ReturnType<typeof temporaryFolder>
let app: Application | undefined
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  await app?.stop()
  app = undefined
  folder[Symbol.dispose]()
})

/** Starts an application with a handler of its topic. @returns posts an event */
async function start(
  handler: Handler,
  options: HandlerOptions = {},
  connection = embeddedConnection({ directory: join(folder.path, "log") }),
): Promise<(...keys: string[]) => Promise<void>> {
  const started = (app = new Application({ service: { logLevel: "silent" } }))
  started.registerConnection("log", connection)
  started
    .addPipeline(
      new Pipeline("p", {
        source: webHookSource({ path: "/in" }),
        processors: [],
        sink: brokerSink({ topic: "t", key: "json:/k", headers: ["kind=json:/k"] }),
      }),
    )
    .handle("log/t", handler, options)
  await started.start({ listen: false })
  return async (...keys) => {
    for (const k of keys) {
      const request = new Request("http://localhost/in", { method: "POST", body: JSON.stringify({ k }) })
      expect((await started.fetch(request)).status).toBe(200)
    }
  }
}

/** Keeps what a handler got. */
function kept(): { readonly events: HandledEvent[]; readonly handler: Handler } {
  const events: HandledEvent[] = []
  return { events, handler: (event) => events.push(event) }
}

describe("a handler", () => {
  test("gets each event of its topic, and continues after a restart where it was", async () => {
    const first = kept()
    const post = await start(first.handler)
    await post("a", "b")
    await until("handled", () => first.events.length === 2)
    const [event] = first.events
    expect(event!.json<{ k: string }>().k).toBe("a")
    expect([event!.topic, event!.key, event!.headers.get("kind"), event!.offset]).toEqual(["t", "a", "a", 0])
    await app!.stop()
    const second = kept()
    const postAgain = await start(second.handler)
    await postAgain("c")
    await until("handled", () => second.events.length === 1)
    expect(second.events[0]!.json()).toMatchObject({ k: "c" })
    // another group gets what is published from its start on
    await app!.stop()
    const other = kept()
    await start(other.handler, { group: "other", begin: "beginning" })
    await until("handled", () => other.events.length === 3)
  })

  test("that throws or hangs is called again; an event that fails while others succeed is a dead letter", async () => {
    const connection = memoryConnection()
    const calls: string[] = []
    const signals: AbortSignal[] = []
    const post = await start(
      (event, { attempt, signal }) => {
        const { k } = event.json<{ k: string }>()
        calls.push(`${k} ${attempt} ${event.isRepeated}`)
        if (k === "poison") throw new Error("no such customer")
        if (k !== "slow" || attempt > 1) return undefined
        signals.push(signal)
        return new Promise(() => {})
      },
      { concurrency: 2, retries: 1, timeout: 200, deadLetter: "failed" },
      connection,
    )
    await post("slow", "poison", "b")
    await until("handled", () => connection.records("failed").length === 1)
    const [letter] = connection.records("failed")
    const headers = new Map(letter!.headers.map(([name, value]) => [name, Buffer.from(value).toString()]))
    expect(headers.get("hookline.errors.reason")).toBe("no such customer")
    await until("handled", () => calls.includes("slow 2 true"))
    expect(signals[0]!.aborted).toBe(true)
  })

  test("is called by testHandler as it would be, and options that do not fit are refused", async () => {
    const { events, handler } = kept()
    await testHandler(handler, { a: 1 }, { key: "k", headers: { x: "y" }, isRepeated: true })
    expect(events).toMatchObject([{ key: "k", isRepeated: true }])
    expect(events[0]!.json()).toEqual({ a: 1 })
    const app = new Application().handle("log/t", handler)
    expect(() => app.handle("log/t", handler)).toThrow("has a handler already")
    expect(() => app.handle("log", handler)).toThrow("is not <connection>/<topic>")
    expect(() => app.handle("log/u", handler, { position: "transaction" })).toThrow("need each other")
    const unknown = new Application().handle("nowhere/t", handler)
    await expect(unknown.start({ listen: false })).rejects.toThrow('unknown connection "nowhere"')
  })
})

const INITDB = Bun.which("initdb") ?? (await found("/usr/lib/postgresql/15/bin/initdb"))

async function found(path: string): Promise<string | null> {
  return (await Bun.file(path).exists()) ? path : null
}

/** A PostgreSQL of this test, which refuses to run as root. @returns its URL */
async function startPostgres(initdb: string, disposing: AsyncDisposableStack): Promise<string> {
  const data = mkdtempSync("/tmp/hookline-postgres-")
  const user = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
  if (user.length > 0) chownSync(data, 65_534, 65_534)
  const port = await freePort()
  const flags = ["-D", data, "-c", `port=${port}`, "-c", "listen_addresses=127.0.0.1", "-k", data]
  const made = Bun.spawnSync([...user, initdb, "-D", data, "-U", "test", "--auth=trust"], { cwd: data })
  expect([made.exitCode, made.stderr.toString()]).toEqual([0, expect.any(String)])
  const postgres = join(dirname(initdb), "postgres")
  const server = Bun.spawn(endingWithThisProcess(...user, postgres, ...flags), {
    cwd: data,
    stderr: "ignore",
  })
  disposing.defer(async () => {
    server.kill("SIGINT")
    await server.exited
    rmSync(data, { recursive: true })
  })
  return `postgres://test@127.0.0.1:${port}/postgres`
}

describe.each(["SQLite", ...(INITDB === null ? [] : ["PostgreSQL"])])(
  "a handler with transactions of %s",
  (kind) => {
    test("that is killed at random has each effect exactly once, in order of each key", async () => {
      await using disposing = new AsyncDisposableStack()
      const events = 400
      const directory = join(folder.path, "log")
      const records = Array.from({ length: events }, (_, n) => ({
        key: Buffer.from(`k${n % 10}`),
        value: Buffer.from(JSON.stringify({ n })),
      }))
      await fillLog(directory, "t", records)
      const isSqlite = kind === "SQLite"
      const url = isSqlite
        ? `sqlite://${join(folder.path, "effects.sqlite")}`
        : await startPostgres(INITDB!, disposing)
      const sql = new SQL(url)
      disposing.defer(() => sql.close())
      if (isSqlite) await sql`PRAGMA journal_mode = WAL`
      if (isSqlite) await sql`PRAGMA busy_timeout = 5000`
      await until("the database answers", () =>
        sql
          .unsafe(`CREATE TABLE effects (id ${isSqlite ? "INTEGER" : "SERIAL"} PRIMARY KEY, n INTEGER)`)
          .then(
            () => true,
            () => false,
          ),
      )
      const count = async (): Promise<number> => {
        const [row] = await sql`SELECT count(*) AS n FROM effects`
        return Number((row as { n: number }).n)
      }
      const program = join(import.meta.dir, "../support/handling-program.ts")
      for (let round = 0; (await count()) < events; round++) {
        await using child = startCommand([directory, url], folder.path, {
          program: [process.execPath, program],
        })
        const more = round < 5 ? (await count()) + 20 + Math.random() * 60 : events
        await until("handled", async () => (await count()) >= Math.min(more, events))
        child.signal("SIGKILL")
        await child.exited
      }
      const rows = (await sql`SELECT n FROM effects ORDER BY id`) as { n: number }[]
      const all = rows.map(({ n }) => n)
      expect(all).toHaveLength(events)
      expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: events }, (_, n) => n))
      for (const ofKey of Map.groupBy(all, (n) => n % 10).values())
        expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b))
    })
  },
)
