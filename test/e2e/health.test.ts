import { expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePorts } from "../support/ports.ts"
import { configurationOf } from "../support/webhook-service.ts"

test("health says whether the Hookline of a configuration runs, and with --ready whether it accepts events", async () => {
  using folder = temporaryFolder()
  const [admin, nobody] = await freePorts(2)
  const unready = { connection: `bootstrap_servers = 127.0.0.1:${nobody}`, topic: "webhooks" }
  const configuration = configurationOf(unready).replace(
    "listen = 127.0.0.1:0",
    `listen = 0.0.0.0:${admin}\ntoken = \${TOKEN}\nhosts = admin.example`,
  )
  const file = join(folder.path, "pipelines.conf")
  const health = (...args: string[]) =>
    hookline(["health", "-c", file, ...args], { env: { TOKEN: "obviously-fake-token" } })

  await using running = await startHookline(configuration, {
    folder: folder.path,
    env: { TOKEN: "obviously-fake-token" },
  })
  expect(await health()).toMatchObject({ status: 0, stdout: "ok\n" })
  const unreadiness = await health("--ready")
  expect(unreadiness).toMatchObject({ status: 69, stdout: "" })
  expect(unreadiness.stderr).toContain(`http://127.0.0.1:${admin}/readyz answers 503: {"status":"not ready"}`)
  await running.stop()
  expect((await health()).status).toBe(69)
})

test.each([
  ["listen = off", 64],
  ["listen = 127.0.0.1:0", 64],
  ["listen = 0.0.0.0:9464", 78],
])("health with [admin] %s exits %d", async (admin, status) => {
  using folder = temporaryFolder()
  const file = join(folder.path, "pipelines.conf")
  await Bun.write(file, `[connection:kafka]\nbootstrap_servers = \${UNSET}\n[admin]\n${admin}\n`)
  expect((await hookline(["health", "-c", file])).status).toBe(status)
})
