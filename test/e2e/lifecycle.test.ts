import { expect, test } from "bun:test"
import {
  hookline,
  reload,
  startHookline,
  folderOfTests,
  temporaryFolder,
  type RunningHookline,
} from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { configurationOf, ON_LOG } from "../support/webhook-service.ts"

const folder = folderOfTests()

const conf = (directory: string): string =>
  configurationOf({ ...ON_LOG, connection: `directory = ${directory}` })

test("SIGTERM ends it with status 0 after what was accepted is answered", async () => {
  await using running = await startHookline(conf("sigterm"), { folder: folder.path })
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      // A connection that nobody had taken when the listener closed was never accepted: the sender sends again.
      const answer = await fetch(running.urls["webhooks"]!, { method: "POST", body: `{"n":${n}}` }).catch(
        () => undefined,
      )
      if (n === 0) running.signal("SIGTERM")
      return answer?.status
    }),
  )
  expect(await running.exited).toBe(0)
  expect(statuses[0]).toBe(200)
  expect(new Set(statuses).isSubsetOf(new Set([200, 503, undefined]))).toBe(true)

  const { stdout } = await hookline(["tail", "webhooks", "-c", `${folder.path}/pipelines.conf`])
  const published = stdout.split("\n").filter((line) => line !== "")
  expect(published.length).toBe(statuses.filter((status) => status === 200).length)
})

/** A log that a busy machine takes a second to open is not ready meanwhile. */
const untilReady = ({ adminUrl }: RunningHookline): Promise<void> =>
  until("it is ready", async () => (await fetch(`${adminUrl}/readyz`)).ok)

/** Stops one that waits for load balancers first; `end` is what is done while it waits. */
async function stopWithDelay(
  settings: Parameters<typeof configurationOf>[0],
  delay: string,
  end: (running: RunningHookline) => void,
): Promise<number | NodeJS.Signals> {
  using home = temporaryFolder()
  const configuration = configurationOf({ ...settings, service: `shutdown_delay = ${delay}` })
  await using running = await startHookline(configuration, { folder: home.path })
  running.signal("SIGTERM")
  await running.logged(({ msg }) => msg.startsWith("shutting down: /readyz answers 503"))
  const ready = await fetch(`${running.adminUrl}/readyz`)
  expect([ready.status, await ready.json()]).toMatchObject([503, { status: "draining" }])
  // a drain would answer 503
  expect((await fetch(running.urls["webhooks"]!, { method: "POST", body: "[]" })).status).toBe(400)
  end(running)
  return await running.exited
}

test("with shutdown_delay it takes events, not ready, before it drains; SIGINT after SIGTERM ends it at once", async () => {
  expect(await stopWithDelay(ON_LOG, "500ms", () => {})).toBe(0)
  expect(await stopWithDelay(ON_LOG, "1h", (running) => running.signal("SIGINT"))).toBe(130)
})

test("an admin token guards the metrics and the reasons, not the probes", async () => {
  const guarded = conf("token").replace(
    "listen = 127.0.0.1:0",
    "listen = 127.0.0.1:0\ntoken = obviously-fake-token",
  )
  await using running = await startHookline(guarded, { folder: folder.path })
  const admin = running.adminUrl!
  const withToken = { headers: { Authorization: "Bearer obviously-fake-token" } }
  expect((await fetch(`${admin}/metrics`)).status).toBe(401)
  expect((await fetch(`${admin}/metrics`, { headers: { Authorization: "Bearer wrong" } })).status).toBe(401)
  expect((await fetch(`${admin}/metrics`, withToken)).status).toBe(200)
  await untilReady(running)
  expect(await (await fetch(`${admin}/readyz`)).json()).toEqual({ status: "ready" })
  expect(await (await fetch(`${admin}/readyz`, withToken)).json()).toEqual({
    status: "ready",
    connections: { broker: "ready" },
  })
  expect(running.output()).not.toContain("obviously-fake-token")
})

test("the admin listener answers no page that reaches it by a name of its own; [admin] hosts names others, also at a reload", async () => {
  const named = (hosts: string): string =>
    conf("hosts").replace("listen = 127.0.0.1:0", `listen = 127.0.0.1:0\nhosts = ${hosts}`)
  await using running = await startHookline(conf("hosts"), { folder: folder.path })
  const { port } = new URL(running.adminUrl!)
  const statuses = (Host: string): Promise<number[]> =>
    Promise.all(
      ["healthz", "readyz", "metrics", "none"].map(
        async (path) => (await fetch(`http://127.0.0.1:${port}/${path}`, { headers: { Host } })).status,
      ),
    )
  await untilReady(running)
  for (const own of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, "10.0.0.7"])
    expect(await statuses(own)).toEqual([200, 200, 200, 404])
  for (const other of [`attacker.example:${port}`, "hookline.internal", "localhost.attacker.example"])
    expect(await statuses(other)).toEqual([421, 421, 421, 421])
  expect(await reload(running, folder.path, named("hookline.internal, metrics.example"))).toBe("reloaded")
  expect(await statuses("hookline.internal:9464")).toEqual([200, 200, 200, 404])
  expect(await statuses("attacker.example")).toEqual([421, 421, 421, 421])
  expect(await reload(running, folder.path, named("http://hookline.internal"))).toBe("not")
})

test("a refused event gives one log line with its reason and never its body", async () => {
  await using running = await startHookline(conf("logs"), { folder: folder.path })
  try {
    await fetch(running.urls["webhooks"]!, { method: "POST", body: `{"card":"4242-obviously-fake",}` })
    await fetch(running.urls["webhooks"]!, { method: "POST", body: `{"card":"4242-obviously-fake"}` })
  } finally {
    await running.stop()
  }
  const refused = running.log.filter((line) => line["reason"] !== undefined)
  expect(refused).toHaveLength(1)
  expect(refused[0]).toMatchObject({ pipeline: "webhooks", reason: "invalid_json", status: 400 })
  expect(running.output()).not.toContain("4242")
})

test("a second process on the same embedded log is status 69, and says who writes to it and what to do", async () => {
  await using running = await startHookline(conf("locked"), { folder: folder.path })
  const { status, stderr } = await hookline(["run", "-c", `${folder.path}/pipelines.conf`])
  expect(status).toBe(69)
  expect(stderr).toContain(
    `The log in ${folder.path}/locked is being written to by process ${running.pid}; stop that one, or name another directory`,
  )
})

test("a configuration file that is not there is status 66 and says what to do", async () => {
  const { status, stderr } = await hookline(["run", "-c", "no-such.conf"])
  expect(status).toBe(66)
  expect(stderr).toContain("no-such.conf does not exist; check the path given to -c")
})

test("a wrong command line is status 64", async () => {
  for (const args of [
    ["frobnicate"],
    ["tail"],
    ["tail", "webhooks", "--from", "yesterday"],
    ["run", "--no-such-flag"],
  ]) {
    expect((await hookline(args)).status).toBe(64)
  }
})
