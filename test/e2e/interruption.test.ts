import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { hookline, startHookline, folderOfTests } from "../support/hookline.ts"
import { openSocket, post } from "../support/http-socket.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"
import { startCommand, startDev, type RunningCommand } from "../support/running-command.ts"
import { configurationOf, ON_LOG } from "../support/webhook-service.ts"

// A signal that comes twice, as npm's Ctrl-C does: the terminal sends it to npm and to Hookline, npm passes it on.

const root = join(import.meta.dir, "../..")
const folder = folderOfTests()

const CTRL_C = "\u0003"
const BODY = '{"id":1}'
const HEAD = post("Content-Type: application/json", `Content-Length: ${BODY.length}`)

/** `npm start` on a terminal, and the port that it listens on. */
async function npmStart(
  name: string,
  shutdownDelay: string,
): Promise<{ npm: RunningCommand; port: number; conf: string }> {
  const port = await freePort()
  const conf = join(folder.make(name), "pipelines.conf")
  await Bun.write(conf, configurationOf({ ...ON_LOG, port, service: `shutdown_delay = ${shutdownDelay}` }))
  const env = { HOOKLINE_CONFIG: conf }
  const npm = startCommand([], root, { program: ["npm", "start"], columns: 200, env })
  await npm.printed(/ started /)
  return { npm, port, conf }
}

test("Ctrl-C in npm start: a request in flight is answered 200 and its event is published", async () => {
  const { npm: running, port, conf } = await npmStart("npm", "500ms")
  await using npm = running
  using sender = await openSocket(port)
  sender.send(HEAD)
  npm.press(CTRL_C)
  await npm.printed(/ stopping /)
  sender.send(BODY)
  expect(await sender.until(/\r\n\r\n/)).toStartWith("HTTP/1.1 200 OK\r\n")
  await npm.printed(/ stopped\r?\n/)
  expect(await npm.exited).toBe(0)
  expect(npm.output()).not.toContain("second signal")
  const { stdout } = await hookline(["tail", "webhooks", "-c", conf])
  expect(stdout).toStartWith('{"id":1,')
})

test("Ctrl-C in npm start, pressed again two seconds later: it exits at once", async () => {
  const { npm: running } = await npmStart("twice", "1h")
  await using npm = running
  const pressedMs = performance.now()
  npm.press(CTRL_C)
  await npm.printed(/shutting down: /)
  const hasEnded = npm.exited.then(() => true)
  // one that is pressed too early changes nothing
  while (!(await Promise.race([hasEnded, Bun.sleep(200)]))) npm.press(CTRL_C)
  expect(performance.now() - pressedMs).toBeGreaterThan(1900)
  expect(npm.output()).toContain("second signal: exiting at once")
})

test("npm start: the process that the line started names reloads on SIGHUP, and SIGTERM to npm stops it in order", async () => {
  const { npm: running } = await npmStart("pid", "10ms")
  await using npm = running
  const [, pid] = /"process_id":(\d+)/.exec(Bun.stripANSI(npm.output()))!
  process.kill(Number(pid), "SIGHUP")
  await npm.printed(/ reloaded /)
  npm.signal("SIGTERM")
  await npm.printed(/ stopped\r?\n/)
  await npm.exited
  await until("the process has ended", () => !existsSync(`/proc/${pid}`))
})

test("SIGTERM sent twice is one signal", async () => {
  const configuration = configurationOf({ ...ON_LOG, service: "shutdown_delay = 200ms" })
  await using running = await startHookline(configuration, { folder: folder.make("two-signals") })
  running.signal("SIGTERM")
  await running.logged(({ msg }) => msg.startsWith("shutting down: "))
  running.signal("SIGTERM")
  expect(await running.exited).toBe(0)
  expect(running.log.at(-1)).toMatchObject({ msg: "stopped" })
})

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "dev takes %s sent twice for one signal",
  async (signal) => {
    const at = folder.make(`dev-${signal}`)
    const configuration = configurationOf({ ...ON_LOG, service: "shutdown_delay = 300ms" })
    await Bun.write(
      join(at, "pipelines.conf"),
      configuration.replace(/listen = .*/, `listen = 127.0.0.1:${await freePort()}`),
    )
    await using dev = await startDev(["-c", "pipelines.conf"], at)
    const [, page] = /Page +(\S+)/.exec(dev.output())!
    dev.signal(signal)
    // on a busy machine it may have ended meanwhile
    const status = (): Promise<number> =>
      fetch(`${page}readyz`).then(
        ({ status }) => status,
        () => 0,
      )
    while ((await status()) === 200) await Bun.sleep(5)
    dev.signal(signal)
    await dev.printed(/0 published, 0 refused/)
    expect(await dev.exited).toBe(0)
  },
)

test.each([
  ["forward", ["--begin", "beginning", "broker/webhooks"], 0, /webhooks\[0\]@0 200 in /],
  ["replay", ["--from", "broker/webhooks", "--to"], 130, /1 record replayed/],
])("%s takes SIGINT sent five times within two seconds for one signal", async (name, args, status, end) => {
  const at = folder.make(name)
  await using running = await startHookline(configurationOf(ON_LOG), { folder: at })
  expect((await fetch(running.urls["webhooks"]!, { method: "POST", body: BODY })).status).toBe(200)
  const posted = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<Response>()
  await using target = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      posted.resolve()
      return answer.promise
    },
  })
  await using command = startCommand([name, ...args, target.url.href], at)
  await posted.promise
  const firstMs = performance.now()
  for (let times = 0; times < 5 && performance.now() - firstMs < 1000; times++) {
    command.signal("SIGINT")
    await Bun.sleep(10)
  }
  answer.resolve(new Response())
  await command.printed(end)
  expect(await command.exited).toBe(status)
})

// before sh has read bin/hookline's first lines SIGHUP ends it, as any program
test.skipIf(process.platform !== "linux")(
  "SIGHUP during the start neither ends it nor is forgotten",
  async () => {
    const conf = join(folder.make("early"), "pipelines.conf")
    await Bun.write(conf, configurationOf(ON_LOG))
    const program = [join(root, "bin/hookline")]
    await using running = startCommand(["run", "-c", conf], root, { program })
    const takesHangups = (): boolean => {
      const status = readFileSync(`/proc/${running.pid}/status`, "utf8")
      return /^Sig(?:Ign|Cgt):\s*[\da-f]*[13579bdf]$/m.test(status)
    }
    while (!takesHangups()) await Bun.sleep(1)
    const started = running.printed(/"started"/).then(() => true)
    do running.signal("SIGHUP")
    while (!(await Promise.race([started, Bun.sleep(2)])))
    await running.printed(/"reloaded"/)
    running.signal("SIGTERM")
    expect(await running.exited).toBe(0)
  },
)
