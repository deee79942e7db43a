import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { endingWithThisProcess } from "../support/child.ts"
import { compare } from "../support/findings.ts"
import { folderOfTests, WITHOUT_NO_ORPHANS } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePort } from "../support/ports.ts"
import { configurationOf, eventsInLog, ON_LOG } from "../support/webhook-service.ts"

// The window of the terminal that Hookline was started in is closed: SIGHUP for the processes in its foreground.

const root = join(import.meta.dir, "../..")
const program = join(root, "bin/hookline")
const base = folderOfTests()

interface OnTerminal extends AsyncDisposable {
  readonly folder: string
  readonly pid: number
  readonly senders: NumberedSenders
  /** Closes the terminal. */
  close(): void
}

/** Hookline on a terminal, once it serves, and senders of events. Disposing of it kills it. */
async function onTerminal(name: string, script: string, cwd?: string): Promise<OnTerminal> {
  const folder = base.make(name)
  const port = await freePort()
  const file = join(folder, "pipelines.conf")
  await Bun.write(file, configurationOf({ ...ON_LOG, port }))
  const child = Bun.spawn(endingWithThisProcess("sh", "-c", script, program, folder), {
    cwd: cwd ?? folder,
    env: { ...process.env, ...WITHOUT_NO_ORPHANS, HOOKLINE_CONFIG: file },
    terminal: { cols: 80, rows: 25 },
  })
  const holder = join(folder, "log/writer.pid")
  await until("it writes its log", () => existsSync(holder) && Number(readFileSync(holder, "utf8")) > 0)
  const pid = Number(readFileSync(holder, "utf8"))
  const senders = new NumberedSenders({ url: `http://127.0.0.1:${port}/webhook`, pid }, { keys: 8 })
  await senders.many(50)
  return {
    folder,
    pid,
    senders,
    close: () => child.terminal!.close(),
    async [Symbol.asyncDispose]() {
      if (isRunning(pid)) process.kill(pid, "SIGKILL")
      await senders.stop()
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    // one that nobody waits for has ended too
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

async function expectStored(folder: string, senders: NumberedSenders): Promise<void> {
  const findings = compare(senders.posted, await eventsInLog(join(folder, "log"), ON_LOG.topic))
  expect(findings).toMatchObject({ lost: 0, doubled: 0, disordered: 0, refusedAndFound: 0 })
  expect(findings.acknowledged).toBeGreaterThanOrEqual(50)
}

describe.skipIf(process.platform !== "linux")("hookline run in a terminal whose window is closed", () => {
  test.each([
    ["with its log on the terminal", `exec "$0" run`, undefined],
    ["with its log in a file", `exec "$0" run > out`, undefined],
    ["with its log and errors in a file", `exec "$0" run > out 2>&1`, undefined],
    ["with its log in a pipe", `"$0" run | cat > out`, undefined],
    ["by npm start", "exec npm start", root],
  ])("%s stops, with every acknowledged event stored", async (name, script, cwd) => {
    await using running = await onTerminal(name, script, cwd)
    const { folder, pid, senders } = running
    running.close()
    await until("it has ended", () => !isRunning(pid))
    await senders.stop()
    await expectStored(folder, senders)
  })

  test("in the background with its log in a file runs on, and SIGHUP reloads it", async () => {
    await using running = await onTerminal("background", `set -m; "$0" run > out 2>&1 & wait`)
    const { folder, pid, senders } = running
    const logged = (message: string): Promise<void> =>
      until(message, () => readFileSync(join(folder, "out"), "utf8").includes(`"${message}"`))
    running.close()
    await senders.many(50)
    process.kill(pid, "SIGHUP")
    await logged("reloaded")
    await senders.many(50)
    await senders.stop()
    process.kill(pid, "SIGTERM")
    await logged("stopped")
    await expectStored(folder, senders)
  })
})

test("hookline dev in a terminal whose window is closed ends without an error", async () => {
  const folder = base.make("dev")
  const port = await freePort()
  let output = ""
  const script = `exec "$0" dev --provider github --secret example --port ${port} --admin-port 0 2> errors`
  const child = Bun.spawn(endingWithThisProcess("sh", "-c", script, program), {
    cwd: folder,
    terminal: { cols: 200, data: (_, bytes) => void (output += Buffer.from(bytes).toString()) },
  })
  await until("it waits for keys", () => output.includes("Ctrl-C"))
  child.terminal!.close()
  const status = await child.exited
  expect({ status, errors: readFileSync(join(folder, "errors"), "utf8") }).toEqual({ status: 0, errors: "" })
})
