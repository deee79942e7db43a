import { afterAll, describe, expect, test } from "bun:test"
import { closeSync, constants, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Application } from "../../src/index.ts"
import { endingWithThisProcess } from "../support/child.ts"
import { HANG_MS } from "../support/hang.ts"
import { temporaryFolder, type LogLine } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { freePorts } from "../support/ports.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { configurationOf, ON_LOG } from "../support/webhook-service.ts"
import { PROGRAM } from "../support/program.ts"

/** Each line of the log names it, so that few lines fill a pipe and the memory before it. */
const PIPELINE = "webhooks-".repeat(400)
const root = temporaryFolder()
const disk = mountSmallDisk(join(root.path, "small-disk"))
afterAll(() => {
  disk?.[Symbol.dispose]()
  root[Symbol.dispose]()
})

/** A pipe that has a reader, which reads nothing until `read` is called. */
class Pipe {
  readonly writer: number
  readonly #path: string
  readonly #reader: number

  constructor(path: string) {
    this.#path = path
    Bun.spawnSync(["mkfifo", path])
    this.#reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    this.writer = openSync(path, "w")
  }

  /** Reads all that is written until the last writer closes it. */
  read(onText: (text: string) => void): Promise<unknown> {
    const child = Bun.spawn(["cat", this.#path], { stdout: "pipe" })
    const decoder = new TextDecoder()
    return (async () => {
      let isOpen = true
      for await (const bytes of child.stdout) {
        // cat has it open now
        if (isOpen) for (const fd of [this.writer, this.#reader]) closeSync(fd)
        isOpen = false
        onText(decoder.decode(bytes, { stream: true }))
      }
    })()
  }
}

interface Service extends AsyncDisposable {
  readonly url: string
  readonly exited: Promise<number>
  metric(series: string): Promise<number>
  signal(signal: NodeJS.Signals): void
}

interface Settings {
  format?: string
  stderr?: number
}

/** Starts one with its log on `stdout`, whose ports are known without reading that. */
async function start(
  name: string,
  stdout: number,
  { format = "json", stderr }: Settings = {},
): Promise<Service> {
  const [port, adminPort] = await freePorts(2)
  const folder = root.make(name)
  const service = `log_level = debug\nlog_format = ${format}`
  const configuration = configurationOf({ ...ON_LOG, port: port!, service })
  await Bun.write(
    join(folder, "pipelines.conf"),
    configuration
      .replace(/listen = .*/, `listen = 127.0.0.1:${adminPort}`)
      .replaceAll(":webhooks:", `:${PIPELINE}:`),
  )
  const child = Bun.spawn(endingWithThisProcess(...PROGRAM, "run", "-c", join(folder, "pipelines.conf")), {
    cwd: folder,
    stdin: "ignore",
    stdout,
    stderr: stderr ?? "inherit",
  })
  const admin = `http://127.0.0.1:${adminPort}`
  const get = (path: string): Promise<Response> =>
    fetch(admin + path, { signal: AbortSignal.timeout(HANG_MS) })
  await until(`${name} answers its probe`, () =>
    get("/healthz").then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  const metric = async (series: string): Promise<number> => {
    expect((await get("/healthz")).status).toBe(200)
    const text = await (await get("/metrics")).text()
    return Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.slice(series.length),
    )
  }
  return {
    url: `http://127.0.0.1:${port}/webhook`,
    exited: child.exited,
    signal: (signal) => child.kill(signal),
    metric,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await child.exited
    },
  }
}

const DROPPED = "hookline_log_lines_dropped_total"

/** Posts numbered events until lines have been dropped, and gives how many; every event is acknowledged. */
async function postUntilDropped(running: Service): Promise<number> {
  const senders = new NumberedSenders({ url: running.url, pid: process.pid }, { keys: 64, pauseMs: 0 })
  await until("log lines are dropped", async () => (await running.metric(DROPPED)) > 0)
  await senders.many(100)
  await senders.stop()
  expect(senders.posted.filter((it) => !isAcknowledged(it))).toEqual([])
  return senders.posted.length
}

const post = (url: string): Promise<number> =>
  fetch(url, { method: "POST", body: '{"k":"k0"}', signal: AbortSignal.timeout(HANG_MS) }).then(
    ({ status }) => status,
  )

const recordsIn = async (name: string): Promise<number> => {
  const app = Application.fromFile(join(root.path, name, "pipelines.conf"))
  return (await Array.fromAsync(app.read("broker", ON_LOG.topic))).length
}

const isNotice = ({ msg }: LogLine): boolean => msg.startsWith("log lines were dropped here")

describe("a log on a pipe that nobody reads", () => {
  test("holds up no event, probe or stop; lines that are dropped are counted, and said once it is read", async () => {
    const pipe = new Pipe(join(root.path, "unread.fifo"))
    await using running = await start("unread", pipe.writer)
    const posted = await postUntilDropped(running)
    const dropped = await running.metric(DROPPED)

    let text = ""
    const lines = (): LogLine[] =>
      text
        .slice(0, text.lastIndexOf("\n") + 1)
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as LogLine)
    const read = pipe.read((more) => (text += more))
    await until("the log says what was dropped", () => sum(lines().filter(isNotice)) === dropped)
    expect(await post(running.url)).toBe(200)
    running.signal("SIGTERM")
    expect(await running.exited).toBe(0)
    await read
    const written = lines()
    expect(written.at(-1)).toMatchObject({ msg: "stopped" })
    const events = written.filter(({ level }) => level === "debug")
    expect(events.length + dropped).toBe(posted + 1)
    expect(written.filter(isNotice).length).toBeGreaterThan(0)
    expect(await recordsIn("unread")).toBe(posted + 1)
  })

  test("does not hold up a stop, although nobody reads it meanwhile", async () => {
    const pipe = new Pipe(join(root.path, "stopped.fifo"))
    await using running = await start("stopped", pipe.writer)
    const posted = await postUntilDropped(running)
    running.signal("SIGTERM")
    expect(await running.exited).toBe(0)
    expect(await recordsIn("stopped")).toBe(posted)
  })
})

const sum = (notices: readonly LogLine[]): number =>
  notices.reduce((total, { lines }) => total + Number(lines), 0)

test.each(["json", "pretty", "auto"])(
  "a log of format %s that can't be written at all ends nothing",
  async (format) => {
    const full = openSync("/dev/full", "w")
    await using running = await start(`full-${format}`, full, { format })
    const posted = await postUntilDropped(running)
    running.signal("SIGTERM")
    expect(await running.exited).toBe(0)
    expect(await recordsIn(`full-${format}`)).toBe(posted)
  },
)

test.skipIf(disk === undefined)(
  "a log on a full disk goes on, whole and in order, once there is space",
  async () => {
    const file = join(disk!.path, "hookline.log")
    const log = openSync(file, "a")
    await using running = await start("disk", log)
    disk!.fill(0)
    const posted = 200
    for (let n = 0; n < posted; n++) expect(await post(running.url)).toBe(200)
    disk!.free()
    const offsets = (): unknown[] =>
      readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .flatMap((line) => (JSON.parse(line) as LogLine)["offset"] ?? [])
    await until(
      "the lines are there",
      () => readFileSync(file, "utf8").endsWith("\n") && offsets().length === posted,
    )
    expect(offsets()).toEqual(Array.from({ length: posted }, (_, n) => n))
    running.signal("SIGTERM")
    expect(await running.exited).toBe(0)
    expect(readFileSync(file, "utf8")).toContain('"msg":"stopped"')
  },
)

test("a log whose collector has gone ends nothing", async () => {
  const path = join(root.path, "gone.fifo")
  Bun.spawnSync(["mkfifo", path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, "w")
  await using running = await start("gone", writer, { stderr: writer })
  closeSync(reader)
  const posted = await postUntilDropped(running)
  running.signal("SIGTERM")
  expect(await running.exited).toBe(0)
  expect(await recordsIn("gone")).toBe(posted)
})
