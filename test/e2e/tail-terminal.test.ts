import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { PROGRAM } from "../support/program.ts"

// What `tail` prints on a terminal, and a --follow that was there before its log.

const root = join(import.meta.dir, "../..")
const folder = temporaryFolder()
const conf = join(folder.path, "pipelines.conf")
const CONFIGURATION = `[connection:log]
directory = log
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
[pipeline:large:WebHookSource]
path = /large
[pipeline:large:BrokerSink]
topic = large
`
let running: RunningHookline
let early: Bun.Subprocess<"ignore", "pipe", "pipe">
beforeAll(async () => {
  await Bun.write(conf, CONFIGURATION)
  early = Bun.spawn([...PROGRAM, "tail", "webhooks", "-f", "-n", "0", "-c", conf], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
  })
  const { value } = await early.stderr.getReader().read()
  expect(Buffer.from(value!).toString()).toMatch(/^waiting: There is no log in .*\n$/)
  running = await startHookline(CONFIGURATION, { folder: folder.path })
  for (let n = 0; n < 25; n++) {
    const answer = await fetch(running.urls["webhooks"]!, {
      method: "POST",
      body: `{"n":${n},"x":"\u009b2J"}`,
    })
    expect(answer.status).toBe(200)
  }
})
afterAll(async () => {
  await running.stop()
  folder[Symbol.dispose]()
})

test("tail --follow waits for a log that is not there yet, and prints all of it", async () => {
  let printed = ""
  for await (const bytes of early.stdout) {
    printed += Buffer.from(bytes).toString()
    if (printed.split("\n").length > 25) early.kill("SIGTERM")
  }
  expect([...(printed.match(/"n":\d+/g) ?? [])]).toEqual(Array.from({ length: 25 }, (_, n) => `"n":${n}`))
  expect(await early.exited).toBe(0)
})

test.each([
  ["INT", 130],
  ["TERM", 143],
])("a signal ends tail while nobody reads what it prints: SIG%s, status %d", async (signal, status) => {
  const body = JSON.stringify({ pad: "x".repeat(200_000) })
  expect((await fetch(running.urls["large"]!, { method: "POST", body })).status).toBe(200)
  const fifo = join(folder.path, `fifo-${signal}`)
  const tail = [...PROGRAM, "tail", "large", "-c", conf]
  // the first bytes say that it prints; a pipe holds 64 KiB
  const script = `mkfifo "$0"; "$@" > "$0" & pid=$!; exec 3< "$0"; head -c 1 <&3; kill -${signal} $pid; wait $pid; echo " $?"`
  const shell = Bun.spawn(["sh", "-c", script, fifo, ...tail], { cwd: root, stdout: "pipe" })
  expect(await new Response(shell.stdout).text()).toBe(`{ ${status}\n`)
})

const END = "[end]"

/** What a terminal gets of `tail`. */
async function onTerminal(args: readonly string[], env: { [name: string]: string } = {}): Promise<string> {
  let shown = ""
  const ended = Promise.withResolvers<void>()
  const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env
  const tail = [...PROGRAM, "tail", "webhooks", "-c", conf, ...args]
  const child = Bun.spawn(["sh", "-c", `"$@" && printf ${END}`, "sh", ...tail], {
    cwd: root,
    env: { ...inherited, TERM: "xterm", ...env },
    terminal: {
      cols: 200,
      data(_, bytes) {
        shown += Buffer.from(bytes).toString()
        if (shown.endsWith(END)) ended.resolve()
      },
    },
  })
  expect(await child.exited).toBe(0)
  await ended.promise
  child.terminal!.close()
  return shown.slice(0, -END.length).replaceAll("\r\n", "\n")
}

const numbers = (shown: string): number[] =>
  [...Bun.stripANSI(shown).matchAll(/"n": ?(\d+)/g)].map(([, n]) => Number(n))

test("on a terminal the last 20 are shown, for people and in colours", async () => {
  const shown = await onTerminal([])
  expect(numbers(shown)).toEqual(Array.from({ length: 20 }, (_, n) => n + 5))
  expect(shown).toContain("\u001b[")
  expect(Bun.stripANSI(shown)).toMatch(
    /^webhooks\[0\]@5 {2}\d{4}-\d\d-\d\dT\S+\n\{\n {2}"n": 5,\n {2}"x": "\\u009b2J",\n/,
  )
})

test("--begin beginning shows all of them, NO_COLOR without colours", async () => {
  const shown = await onTerminal(["--begin", "beginning"], { NO_COLOR: "1" })
  expect(numbers(shown)).toHaveLength(25)
  expect(shown).not.toContain("\u001b")
})

test.each(["raw", "value", "json"])("%s writes no control characters to a terminal", async (format) => {
  const shown = await onTerminal(["-n", "1", "--format", format])
  expect(numbers(shown)).toEqual([24])
  expect(shown).toContain("\\u009b2J")
  expect(["\u001b", "\u009b"].filter((it) => shown.includes(it))).toEqual([])
})
