import { expect, test } from "bun:test"
import { join } from "node:path"
import { endingWithThisProcess } from "../support/child.ts"
import { temporaryFolder, type LogLine } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"
import { childrenOf } from "../support/worker-processes.ts"
import { overManyConnections, workersConf } from "../support/workers-configuration.ts"

const FILTER = "[pipeline:webhooks:Filter]\nwhen = header:x-kind\ndrop = ping"

/** A service whose level is set from here. */
async function startAdjustable(workers: number, folder: string) {
  const port = await freePort()
  const file = join(folder, "pipelines.conf")
  await Bun.write(file, workersConf({ port, workers, more: FILTER, admin: "off" }))
  const program = join(import.meta.dir, "../support/adjustable-service.ts")
  const child = Bun.spawn(endingWithThisProcess(process.execPath, program, file), {
    stdin: "pipe",
    stdout: "pipe",
  })
  let log: LogLine[] = []
  void (async () => {
    let rest = ""
    for await (const bytes of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + bytes).split("\n")
      rest = lines.pop()!
      log.push(...lines.map((line) => JSON.parse(line) as LogLine))
    }
  })()
  const seen = (msg: string): boolean => log.some((line) => line.msg === msg)
  const command = async (line: string): Promise<void> => {
    child.stdin.write(`${line}\n`)
    await child.stdin.flush()
    await until(`${line} is done`, () => seen(`done: ${line}`))
  }
  await until("it has started", () => seen("started"))
  return {
    pid: child.pid,
    log: (): readonly LogLine[] => log,
    /** Sets the level, or reloads. */
    async change(to: string): Promise<void> {
      log = []
      await command(to)
    },
    /** Sends events that the Filter drops, and returns who has logged it: worker numbers. */
    async loggers(): Promise<unknown[]> {
      log = []
      const statuses = await overManyConnections(port, 40, "{}", { "X-Kind": "ping" })
      expect(new Set(statuses)).toEqual(new Set([200]))
      await command("flush")
      return [
        ...new Set(log.filter(({ msg }) => msg === "event dropped").map(({ worker }) => worker)),
      ].toSorted()
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await child.exited
    },
  }
}

test.each([
  [1, [undefined]],
  [2, [1, 2]],
])(
  "with %d processes a level that is set applies to all of them, and a reload sets the file's",
  async (workers, all) => {
    using folder = temporaryFolder()
    await using it = await startAdjustable(workers, folder.path)
    expect(await it.loggers()).toEqual([])
    await it.change("debug")
    expect(await it.loggers()).toEqual(all)
    await it.change("warn")
    expect(await it.loggers()).toEqual([])
    await it.change("debug")
    await it.change("reload")
    expect(it.log().some(({ msg }) => msg === "reloaded")).toBe(true)
    expect(await it.loggers()).toEqual([])
  },
  30_000,
)

test("a worker that is restarted logs at the level that is set", async () => {
  using folder = temporaryFolder()
  await using it = await startAdjustable(2, folder.path)
  await it.change("debug")
  process.kill(childrenOf(it.pid)[0]!, "SIGKILL")
  await until("it is restarted", () => it.log().some(({ msg }) => msg === "worker restarted"))
  expect(await it.loggers()).toEqual([1, 2])
}, 30_000)
