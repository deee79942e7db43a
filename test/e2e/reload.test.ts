import { expect, test } from "bun:test"
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import { hookline, reload, startHookline, folderOfTests } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { startCommand } from "../support/running-command.ts"
import { until } from "../support/kafka-options.ts"
import { published, reloadConf, statusOf } from "../support/reloaded.ts"
import { PROGRAM } from "../support/program.ts"

const root = folderOfTests()
const folderOf = (name: string): string => root.make(name)

test("SIGHUP changes to the new file, and says what changed and never a secret", async () => {
  const folder = folderOf("changes")
  await using running = await startHookline(reloadConf(), { folder })
  const verified = `
[pipeline:verified:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:verified:Verifier]
provider = github
secret = obviously-fake-secret
[pipeline:verified:BrokerSink]
topic = verified
connection = log
[service]
drain_timeout = 5s`
  try {
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
    expect(await reload(running, folder, reloadConf({ topic: "second", more: verified }))).toBe("reloaded")
    expect(running.log.at(-1)).toMatchObject({
      pipelines_added: ["verified"],
      pipelines_changed: ["webhooks"],
      service_changed: ["drain_timeout"],
    })
    expect(running.log.at(-1)).not.toHaveProperty("connections_changed")
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
    expect(await statusOf(running.urls["verified"])).toBe(401)

    expect(await reload(running, folder, reloadConf({ topic: "second" }))).toBe("reloaded")
    expect(running.log.at(-1)).toMatchObject({ pipelines_removed: ["verified"] })
    expect(running.log.at(-1)).not.toHaveProperty("pipelines_changed")
    await expect(statusOf(running.urls["verified"])).rejects.toThrow()
    const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
    for (const line of [
      'hookline_http_requests_total{pipeline="webhooks",status="200"} 2',
      'hookline_http_requests_total{pipeline="verified",status="401"} 1',
      'hookline_config_reloads_total{result="success"} 2',
      'hookline_config_reloads_total{result="failure"} 0',
      "hookline_config_last_reload_successful 1",
    ])
      expect(metrics).toContain(`${line}\n`)
  } finally {
    expect(await running.stop()).toBe(0)
  }
  expect(running.output()).not.toContain("obviously-fake-secret")
  expect(await published(folder, "first")).toBe(1)
  expect(await published(folder, "second")).toBe(1)
})

test("a wrong file changes nothing and every problem is logged; the next right one takes over", async () => {
  const folder = folderOf("wrong")
  await using running = await startHookline(reloadConf(), { folder })
  try {
    const url = running.urls["webhooks"]!
    const wrong = `${reloadConf({ topic: "not a topic", source: "prot = 1" })}token = \${file:none}`
    expect(await reload(running, folder, wrong)).toBe("not")
    const errors = running.log.filter(({ level }) => level === "error").map(({ msg }) => msg)
    for (const key of ["prot", "topic", "token"]) expect(errors.join("\n")).toContain(`] ${key}: `)
    expect(await statusOf(url)).toBe(200)
    const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
    expect(metrics).toContain("hookline_config_last_reload_successful 0\n")
    expect(metrics).toContain('hookline_config_reloads_total{result="failure"} 1\n')
    const ofReload = async () => {
      const { problems, configuration_loaded_at: loadedAt } = (await (
        await fetch(`${running.adminUrl}/api/overview`)
      ).json()) as Overview
      const [problem] = problems.filter(({ kind, until }) => kind === "reload_failed" && until === null)
      return { problem, loadedAt }
    }
    await until("the failed reload is a problem", async () => (await ofReload()).problem !== undefined)
    const { problem, loadedAt } = await ofReload()
    const active = new Date(loadedAt).toISOString()
    expect(problem!.cause).toMatch(
      /^The configuration on disk does not start: .*pipelines\.conf:\d+: .* \(and \d more\); the one loaded at /,
    )
    expect(problem!.cause).toEndWith(`the one loaded at ${active} is active`)
    expect(await (await fetch(`${running.adminUrl}/readyz`)).json()).toMatchObject({
      status: "ready",
      configuration: problem!.cause,
    })

    rmSync(join(folder, "pipelines.conf"))
    const before = running.log.length
    running.signal("SIGHUP")
    // its last line, so that the next reload's is not taken for it
    await running.logged(
      (line) => line.msg.startsWith("reload failed") && running.log.indexOf(line) >= before,
    )
    expect(
      running.log
        .slice(before)
        .map(({ msg }) => msg)
        .join("\n"),
    ).toContain("does not exist")
    expect(await statusOf(url)).toBe(200)
    expect(await reload(running, folder, reloadConf({ topic: "second" }))).toBe("reloaded")
    expect(await statusOf(url)).toBe(200)
    await until("the problem is over", async () => (await ofReload()).problem === undefined)
    expect((await ofReload()).loadedAt).toBeGreaterThan(loadedAt)
    expect(await (await fetch(`${running.adminUrl}/readyz`)).json()).not.toHaveProperty("configuration")
  } finally {
    await running.stop()
  }
  expect(await published(folder, "first")).toBe(2)
  expect(await published(folder, "second")).toBe(1)
})

const PROVIDER = "[provider:own]\nscheme = token\nheader = X-Token\nsample_file = input\n"
const verifiedBy = (verifier: string): string =>
  `[pipeline:own:WebHookSource]\nhost = 127.0.0.1\nport = 0\npath = /own\n${verifier}\n[pipeline:own:BrokerSink]\ntopic = own\nconnection = log\n`

test("a reload that meets a pipe, device, socket or folder in place of a file is refused, and the service runs on", async () => {
  const folder = folderOf("kinds")
  const input = join(folder, "input")
  const socket = createServer()
  const kinds: readonly (readonly [what: string, make: () => void])[] = [
    ["is a pipe, not a regular file", () => Bun.spawnSync(["mkfifo", input])],
    ["is a device, not a regular file", () => symlinkSync("/dev/zero", input)],
    ["is a device, not a regular file", () => symlinkSync("/dev/full", input)],
    ["is a folder", () => mkdirSync(input)],
    ["is a socket, not a regular file", () => socket.listen(input)],
  ]
  const uses: readonly string[] = [
    reloadConf({ source: "response_body = ${file:input}" }),
    `include = input\n${reloadConf()}`,
    reloadConf({ more: "[pipeline:webhooks:Validator]\nschema = input" }),
    reloadConf({ source: "tls_certificate = input\ntls_key = input" }),
    reloadConf({ more: PROVIDER }),
    reloadConf({ more: verifiedBy("[pipeline:own:Verifier]\nprovider = asana\nsecret_file = input") }),
  ]
  await using running = await startHookline(reloadConf(), { folder })
  const file = join(folder, "pipelines.conf")
  for (const [what, make] of kinds) {
    rmSync(input, { recursive: true, force: true })
    make()
    for (const text of uses) {
      const before = running.log.length
      expect(await reload(running, folder, text)).toBe("not")
      const said = running.log.slice(before).map(({ msg }) => msg)
      expect(
        said.filter((it) => it.includes(what)),
        `${text}\n${said.join("\n")}`,
      ).not.toEqual([])
      expect(await statusOf(running.urls["webhooks"])).toBe(200)
    }
    const checked = await hookline(["check", "-c", file])
    expect([checked.status, checked.stderr]).toEqual([78, expect.stringContaining(what)])
    // the configuration file itself
    rmSync(file)
    renameSync(input, file)
    const before = running.log.length
    running.signal("SIGHUP")
    await running.logged((line) => line.msg.includes("unchanged") && running.log.indexOf(line) >= before)
    expect(running.log.at(-2)!.msg).toContain(`pipelines.conf ${what}`)
    rmSync(file, { recursive: true })
  }
  socket.close()
  expect(await reload(running, folder, reloadConf({ topic: "second" }))).toBe("reloaded")
  expect(await running.stop()).toBe(0)
})

test("a configuration that comes through a pipe is read at the start, and not by a reload", async () => {
  const folder = folderOf("pipe")
  const shell = `exec "$@" run -c <(printf %s "$CONFIGURATION")`
  const more = "[service]\nlog_format = json"
  await using running = startCommand([], folder, {
    program: ["bash", "-c", shell, "bash", ...PROGRAM],
    env: { CONFIGURATION: reloadConf({ directory: join(folder, "log"), more }) },
  })
  await running.printed(/"msg":"started"/)
  running.signal("SIGHUP")
  await running.printed(
    /fd\/\d+ is a pipe, not a regular file; a reload reads it again, so that it has to be a file/,
  )
  running.signal("SIGTERM")
  expect(await running.exited).toBe(0)
})

test("the environment is that of the start: a reload that meets it says so", async () => {
  const folder = folderOf("environment")
  const own = (name: string): string =>
    reloadConf({
      more: `[pipeline:own:WebHookSource]\nhost = 127.0.0.1\nport = 0\npath = \${${name}}\n[pipeline:own:BrokerSink]\ntopic = own\nconnection = log`,
    })
  await using running = await startHookline(own("SET_AT_START"), { folder, env: { SET_AT_START: "/own" } })
  expect(await reload(running, folder, own("SET_LATER"))).toBe("not")
  expect(running.log.map(({ msg }) => msg).join("\n")).toContain(
    "] path: environment variable SET_LATER is not set; a reload keeps the environment that the process was started with: set it and restart, use ${file:/path}, or give a default: ${SET_LATER:-default}",
  )
  expect(await reload(running, folder, own("SET_AT_START"))).toBe("reloaded")
  const line = await running.logged(({ msg }) => msg.startsWith("nothing has changed"))
  expect(line).toMatchObject({ variables: ["SET_AT_START"] })
})

test("what can't be opened leaves everything as it was: a port in use, a log of another process, a broken schema", async () => {
  const folder = folderOf("unopened")
  using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  await using elsewhere = await startHookline(reloadConf(), { folder: folderOf("elsewhere") })
  await using running = await startHookline(reloadConf(), { folder })
  await Bun.write(join(folder, "schema.json"), "{")
  const more = (port: number): string =>
    `[pipeline:more:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\n[pipeline:more:BrokerSink]\ntopic = more\nconnection = log`
  try {
    for (const parts of [
      { more: more(other.port!) },
      { more: `${more(0)}\n[connection:other]\ndirectory = ../elsewhere/log` },
      { more: `${more(0)}\n[pipeline:more:Validator]\nschema = schema.json` },
      { admin: `127.0.0.1:${other.port}` },
    ])
      expect(await reload(running, folder, reloadConf({ topic: "second", ...parts }))).toBe("not")
    expect(running.urls).not.toHaveProperty("more")
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
  } finally {
    await running.stop()
    await elsewhere.stop()
  }
  expect(running.log.filter(({ msg }) => msg.includes("the port is in use")).map(({ msg }) => msg)).toEqual([
    expect.stringMatching(
      /pipelines\.conf:\d+: \[pipeline:more:WebHookSource\] port: can't listen on 127\.0\.0\.1:/,
    ),
    expect.stringMatching(/pipelines\.conf:\d+: \[admin\] listen: can't listen on 127\.0\.0\.1:/),
  ])
  expect(running.output()).toContain(`process ${elsewhere.pid}`)
  expect(await published(folder, "first")).toBe(1)
  const { stdout } = await hookline(["topics", "-c", join(folder, "pipelines.conf"), "--connection", "log"])
  expect(stdout).not.toContain("more")
})

test("the admin listener moves, takes another token, and the log another level", async () => {
  const folder = folderOf("admin")
  await using running = await startHookline(reloadConf(), { folder })
  try {
    const before = running.adminUrl!
    const withToken = { headers: { Authorization: "Bearer obviously-fake" } }
    expect(
      await reload(running, folder, `${reloadConf()}token = obviously-fake\n[service]\nlog_level = debug`),
    ).toBe("reloaded")
    expect((await fetch(`${before}/metrics`)).status).toBe(401)
    expect((await fetch(`${before}/metrics`, withToken)).status).toBe(200)

    const port = await freePort()
    expect(await reload(running, folder, reloadConf({ admin: `127.0.0.1:${port}` }))).toBe("reloaded")
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
    await expect(fetch(`${before}/healthz`)).rejects.toThrow()

    await Bun.write(
      join(folder, "pipelines.conf"),
      `${reloadConf()}[service]\nlog_level = warn\nlog_format = pretty`,
    )
    running.signal("SIGHUP")
    await running.logged(({ msg }) => msg.includes("log_format takes effect with a restart"))
    while ((await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)) !== undefined)
      await Bun.sleep(5)
    expect(await statusOf(running.urls["webhooks"], "[]")).toBe(400)
  } finally {
    await running.stop()
  }
  expect(running.log.filter(({ reason }) => reason === "not_an_object")).toEqual([])
})

test("a storm of SIGHUP ends with the last configuration, and SIGTERM during it stops in order", async () => {
  const folder = folderOf("storm")
  await using running = await startHookline(reloadConf(), { folder })
  const url = running.urls["webhooks"]
  for (let n = 1; n <= 50; n++) {
    await Bun.write(join(folder, "pipelines.conf"), reloadConf({ topic: `t${n}` }))
    running.signal("SIGHUP")
    if (n % 10 === 0) expect(await statusOf(url)).toBe(200)
  }
  const more =
    "[pipeline:more:WebHookSource]\nhost = 127.0.0.1\nport = 0\n[pipeline:more:BrokerSink]\ntopic = more\nconnection = log"
  await Bun.write(join(folder, "pipelines.conf"), reloadConf({ topic: "last", more }))
  running.signal("SIGHUP")
  // of those that have read an earlier file any number may still be logged before
  await running.logged((line) => Array.isArray(line["pipelines_added"]))
  expect(await statusOf(url)).toBe(200)
  running.signal("SIGHUP")
  running.signal("SIGTERM")
  expect(await running.exited).toBe(0)
  expect(running.log.filter(({ level }) => level === "error")).toEqual([])
  expect(await published(folder, "last")).toBe(1)
})
