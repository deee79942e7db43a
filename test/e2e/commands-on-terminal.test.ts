import { afterAll, beforeAll, expect, test } from "bun:test"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { PROGRAM } from "../support/program.ts"

const folder = temporaryFolder()
let running: RunningHookline
beforeAll(async () => {
  const configuration = `[connection:log]
directory = log
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = 127.0.0.1:${await freePort()}
`
  running = await startHookline(configuration, { folder: folder.path })
})
afterAll(async () => {
  await running.stop()
  folder[Symbol.dispose]()
})

/** A command on a terminal of its own, and what it has shown there. */
function onTerminal(...args: readonly string[]) {
  let shown = ""
  let grown = Promise.withResolvers<void>()
  const child = Bun.spawn([...PROGRAM, ...args], {
    cwd: folder.path,
    env: { ...process.env, TERM: "xterm" },
    terminal: {
      cols: 200,
      data(_, bytes) {
        shown += Buffer.from(bytes).toString()
        grown.resolve()
        grown = Promise.withResolvers()
      },
    },
  })
  return {
    child,
    /** Waits until it has shown something. */
    async shows(pattern: RegExp): Promise<string> {
      while (!pattern.test(shown)) await grown.promise
      return shown
    },
  }
}

test("status --watch redraws a screen of its own, which leaves the scrollback, and where the last one stays behind", async () => {
  const { child, shows } = onTerminal("status", "--watch")
  // twice
  await shows(/PIPELINE[^]*PIPELINE/)
  child.kill("SIGINT")
  expect(await child.exited).toBe(0)
  const shown = await shows(/\[\?1049l[^]*PIPELINE[^]*CONNECTION[^]*ready/)
  const [own, after, ...more] = shown.split("\u001b[?1049l")
  expect(more).toEqual([])
  expect(own).toStartWith("\u001b[?1049h")
  expect(own!.split("\u001b[H\u001b[J").length).toBeGreaterThan(2)
  expect(own).not.toContain("\u001b[3J")
  expect(after).toMatch(/^ready: Hookline /)
  expect(after).not.toContain("\u001b")
})

test("mcp says what it is to who runs it by hand", async () => {
  const { child, shows } = onTerminal("mcp")
  expect(await shows(/Ctrl-D ends it/)).toContain("This is a server of the Model Context Protocol")
  child.terminal!.write("\u0004")
  expect(await child.exited).toBe(0)
})
