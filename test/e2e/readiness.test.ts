import { afterEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { endingWithThisProcess } from "../support/child.ts"
import { startHookline, temporaryFolder, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { openSocket, post as postOf } from "../support/http-socket.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"
import { configurationOf, startService } from "../support/webhook-service.ts"
import { metricOf, sum } from "../support/metric-of.ts"

const DELIVERY_TIMEOUT_MS = 500

const folder = temporaryFolder()
let running: RunningHookline
afterEach(async () => {
  await running.stop()
  folder[Symbol.dispose]()
})

const start = async (connection: string): Promise<void> => {
  running = await startService({
    folder: folder.path,
    connection,
    topic: "webhooks",
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
  })
}
const readiness = async (): Promise<[code: number, told: { [part: string]: unknown }]> => {
  const answer = await fetch(`${running.adminUrl}/readyz`)
  return [answer.status, (await answer.json()) as { [part: string]: unknown }]
}
type Told = Awaited<ReturnType<typeof readiness>>
/** Says what it was instead, in the error. */
async function becomes(code: number, holds: (told: Told[1]) => boolean = () => true): Promise<void> {
  let last: Told | undefined
  const isSo = async (): Promise<boolean> => {
    last = await readiness()
    return last[0] === code && holds(last[1])
  }
  await until(`/readyz is ${code}`, isSo).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(last)}\n${running.output()}`)
  })
}
const post = async (): Promise<number> =>
  (await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}" })).status
/** A busy machine may take longer for one than `delivery_timeout`. */
const accepts = (): Promise<void> => until("an event is accepted", async () => (await post()) === 200)

describe("while another process holds the write lock", () => {
  test("of the embedded log, it is not ready, with no event on its way too, and says why; then it is again", async () => {
    await start("directory = log")
    await becomes(200)
    const file = join(folder.path, "log", "log.sqlite")
    const holder = await holdWriteLock(file)
    try {
      // a disk that has not answered for a second is not ready either, and says so until the lock is found
      await becomes(503, ({ status, connections }) => {
        return status === "not ready" && JSON.stringify(connections).includes(`write lock of ${file}`)
      })
      expect((await metricOf(running, "hookline_connection_ready")).get('connection="broker"')).toBe(0)
      expect(await post()).toBe(503)
      // what waited and was refused does not make it ready
      expect((await readiness())[0]).toBe(503)
    } finally {
      await holder.release()
    }
    await becomes(200)
    await accepts()
    const lines = (): LogLine[] => running.log.filter(({ msg }) => msg.includes("write lock"))
    // the log has a thread of its own, and may be written later than the answer
    await until("the end of the lock is logged", () => lines().length > 1)
    expect(lines()).toMatchObject([
      { level: "error", connection: "broker", file },
      { level: "info", connection: "broker", file },
    ])
  })

  test("of the embedded log, it is not ready without the brokers either: no other replica has this log", async () => {
    await start("directory = log")
    const holder = await holdWriteLock(join(folder.path, "log", "log.sqlite"))
    try {
      await becomes(503, ({ connections }) => JSON.stringify(connections).includes("write lock"))
      expect((await fetch(`${running.adminUrl}/readyz?exclude=brokers`)).status).toBe(503)
    } finally {
      await holder.release()
    }
  })

  test("of a spool, it is ready only as long as its broker accepts events", async () => {
    await start("bootstrap_servers = 127.0.0.1:9\nspool = spool.sqlite")
    await accepts()
    await becomes(200)
    const file = join(folder.path, "spool.sqlite")
    const holder = await holdWriteLock(file)
    try {
      const text = `another process holds the write lock of ${file}`
      await becomes(503, ({ connections, spools }) =>
        [connections, spools].every((it) => JSON.stringify(it).includes(text)),
      )
      expect(await post()).toBe(503)
    } finally {
      await holder.release()
    }
    await becomes(200)
    await accepts()
  })
})

/** Another process that holds the write lock of an SQLite file, as a `BEGIN IMMEDIATE` in a shell of somebody's would. */
interface LockHolder {
  readonly pid: number
  /** Ends the process; resolves when the lock is free. */
  release(): Promise<void>
}

const SCRIPT = `import { Database } from "bun:sqlite"
const db = new Database(process.argv[1], { readwrite: true })
db.run("PRAGMA busy_timeout = 300000")
db.run("BEGIN IMMEDIATE")
console.log("held")
await Bun.stdin.text()
db.close()`

/** Resolves when the lock is held. */
async function holdWriteLock(file: string): Promise<LockHolder> {
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

describe("without the brokers, while Kafka is away", () => {
  const KAFKA_AWAY = "bootstrap_servers = 127.0.0.1:9"
  const withoutBrokers = async (): Promise<[number, unknown]> => {
    const answer = await fetch(`${running.adminUrl}/readyz?exclude=brokers`)
    return [answer.status, await answer.json()]
  }

  test("it is ready, and says nothing of the connection", async () => {
    running = await startService({
      folder: folder.path,
      connection: KAFKA_AWAY,
      topic: "webhooks",
      service: "drain_timeout = 5m\nbody_timeout = 5m",
    })
    await becomes(503, ({ connections }) => Object.keys(connections as object)[0] === "broker")
    expect(await withoutBrokers()).toMatchObject([200, { status: "ready", connections: {} }])

    // it drains for as long as a body has not come
    using socket = await openSocket(Number(new URL(running.urls["webhooks"]!).port))
    socket.send(`${postOf("Content-Length: 2")}{`)
    await until(
      "the request is in flight",
      async () => sum((await metricOf(running, "hookline_in_flight_requests")).values()) > 0,
    )
    running.signal("SIGTERM")
    await becomes(503, ({ status }) => status === "draining")
    expect(await withoutBrokers()).toMatchObject([503, { status: "draining" }])
    socket.send("}")
    expect(await running.exited).toBe(0)
  })

  test("it is not ready while the Deduplicator's store is away, too, and then names the store", async () => {
    const port = await freePort()
    running = await startHookline(
      `${configurationOf({ connection: KAFKA_AWAY, topic: "webhooks" })}
[pipeline:webhooks:Deduplicator]
key = json:/n
store = redis://127.0.0.1:${port}`,
      { folder: folder.path },
    )
    const [status, { pipelines }] = (await withoutBrokers()) as [number, { pipelines: object }]
    expect(status).toBe(503)
    expect(JSON.stringify(pipelines)).toContain(`store redis://127.0.0.1:${port}`)
    expect(JSON.stringify(pipelines)).not.toContain("connection broker")
  })

  test("what else is to be excluded is refused by 400, which says what can be", async () => {
    await start(KAFKA_AWAY)
    for (const query of ["exclude=kafka", "exclude=brokers&exclude=stores", "exclude="]) {
      const answer = await fetch(`${running.adminUrl}/readyz?${query}`)
      expect([query, answer.status, await answer.text()]).toEqual([
        query,
        400,
        "brokers is the only value of exclude\n",
      ])
    }
  })
})
