import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { hookline, folderOfTests } from "../support/hookline.ts"
import { runToEnd } from "../support/child.ts"
import { valuesInLog } from "../support/log-values.ts"
import { until } from "../support/kafka-options.ts"
import { freePorts } from "../support/ports.ts"
import { startCommand, startDev } from "../support/running-command.ts"
import { configurationOf } from "../support/webhook-service.ts"
import { CLI, PROGRAM } from "../support/program.ts"

// `hookline dev` as a process of its own, with and without a terminal.

/** The command that it prints is the one that was typed, which an executable has its path in. */
const FROM_SOURCE = [process.execPath, CLI]
const folder = folderOfTests()

const BODY = '{"id":"evt_1","type":"invoice.paid","nested":{"a":[1,2]}}'
const stripe = (secret: string, body = BODY): { [name: string]: string } => {
  const atS = Math.floor(Date.now() / 1000)
  const signature = createHmac("sha256", secret).update(`${atS}.${body}`).digest("hex")
  return { "Stripe-Signature": `t=${atS},v1=${signature}` }
}
const post = (url: string, headers = {}, body = BODY): Promise<Response> =>
  fetch(url, { method: "POST", headers, body })

/** Flags for free ports, and where to post. */
async function onFreePorts(): Promise<{ ports: string[]; url: string }> {
  const [port, adminPort] = await freePorts(2)
  return {
    ports: ["--port", `${port}`, "--admin-port", `${adminPort}`],
    url: `http://127.0.0.1:${port}/webhook`,
  }
}

test("signed events get a line, are kept and forwarded; others are refused with the likely mistake", async () => {
  const at = folder.make("signed")
  const bodies: string[] = []
  const statuses = [503, 200, 422]
  await using target = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      bodies.push(await request.text())
      return new Response("not mine", { status: statuses[bodies.length - 1]! })
    },
  })
  const { ports, url } = await onFreePorts()
  const to = new URL("/hooks", target.url).href
  await using dev = await startDev(["-p", "stripe", ...ports, "--forward", to], at, { program: FROM_SOURCE })
  const introduction = await dev.printed(/Keys/)
  const [, secret = ""] =
    /verified: stripe, with a secret made for this run: (\S+)\n/.exec(introduction) ?? []
  const shown = url.replace("127.0.0.1", "localhost")
  expect(introduction).toContain(`  Post to       ${shown}\n`)
  expect(introduction).toContain(`HOOKLINE_SECRET=${secret} hookline send -p stripe ${shown}\n`)
  expect(introduction).toContain(
    "stripe does not know it: start again with its own in HOOKLINE_SECRET or --secret-file",
  )
  expect(introduction).toContain(`stripe listen --forward-to ${new URL(shown).host}/webhook\n`)
  expect(introduction).toMatch(/Page {10}http:\/\/127\.0\.0\.1:\d+\/\n/)

  // what the target says is on a line of its own where it comes late
  expect((await post(url, stripe(secret))).status).toBe(200)
  await dev.printed(/ 200 {2}invoice\.paid {2}evt_1 {2}57 B {2}webhooks\[0\]@0(?: {2}-> .*)?\n/)
  await dev.printed(
    /^ +received, verified, stored in \d+\.\d ms; hookline init stripe writes a configuration file for a service\n/m,
  )
  await dev.printed(/webhooks\[0\]@0 {2}-> \S+\/hooks 503: not mine; retrying\n/)
  await dev.printed(/^ +webhooks\[0\]@0 {2}-> \S+\/hooks 200 in \d+ ms\n/m)
  expect((await post(url, stripe(secret, "{}"), "{}")).status).toBe(200)
  await dev.printed(/ 200 {2}- {2}- {2}2 B {2}webhooks\[0\]@1(?: {2}-> .*)?\n/)
  await dev.printed(/webhooks\[0\]@1 {2}-> \S+\/hooks refused it: 422: not mine\n/)
  expect((await post(url, stripe("of-another-endpoint"))).status).toBe(401)
  await dev.printed(
    / 401 {2}invoice\.paid {2}evt_1 {2}57 B {2}refused: unverified_no_match: .*\n +Possibly: The secret/,
  )
  expect((await post(url)).status).toBe(401)
  await dev.printed(
    / 401 .* refused: unverified_missing_header: .*\n +Likely mistake: The request has no Stripe-Signature/,
  )
  expect((await post(`${url}s`)).status).toBe(404)
  await dev.printed(
    / 404 {2}POST \/webhooks {2}.*refused: unknown_path.*\n +webhooks are accepted at \/webhook\n/,
  )

  dev.signal("SIGINT")
  const all = await dev.printed(/ s; .*\n/)
  expect(await dev.exited).toBe(0)
  expect(all).toMatch(/\n2 published, 3 refused in \d+ s; 1 forwarded, 1 refused by the target\n$/)
  // each once: neither is a line of the log
  expect(all.match(/unverified_no_match/g)).toHaveLength(1)
  expect(all).not.toContain("WARN")
  const values = await valuesInLog(join(at, "hookline-dev"), "webhooks")
  expect(values.map((it) => it.replace(/,?"received_at".*/, ""))).toEqual([BODY.slice(0, -1), "{"])
  expect(bodies.slice(1)).toEqual(values)
  expect(readFileSync(join(at, "hookline-dev", ".gitignore"), "utf8")).toBe("*\n")
})

test("what to try next is the command by which it was started", async () => {
  const { ports, url } = await onFreePorts()
  const program = join(import.meta.dir, "../../bin/hookline")
  await using dev = await startDev(["-p", "stripe", ...ports], folder.make("started"), { program: [program] })
  const shown = url.replace("127.0.0.1", "localhost")
  const [, command] = /Try it +(\S+ .+)\n/.exec(await dev.printed(/Try it/)) ?? []
  expect(command).toEndWith(`${program} send -p stripe ${shown}`)
  const sent = Bun.spawn(["sh", "-c", command!], { stdout: "pipe", stderr: "pipe" })
  expect([await sent.exited, await sent.stdout.text()]).toEqual([0, expect.stringContaining("200")])
})

describe("what to try is a command that can be pasted anywhere, with a secret", () => {
  const secret = "not-a-real-secret-000"
  const file = "[pipeline:webhooks:Verifier]\nprovider = github\nsecret = not-a-real-secret-000\n"
  test.each<[string, string[], { [name: string]: string }]>([
    ["of the environment", ["-p", "github"], { HOOKLINE_SECRET: secret }],
    ["of a file", ["-p", "github", "--secret-file", "its secret"], {}],
    ["of a configuration file", ["-c", "pipelines.conf"], {}],
  ])("%s", async (name, flags, env) => {
    const at = folder.make(`paste ${name}`)
    const { ports, url } = await onFreePorts()
    const [, port, , adminPort] = ports
    await Bun.write(join(at, "its secret"), `${secret}\n`)
    const base = configurationOf({ connection: "directory = log", topic: "webhooks", port: Number(port) })
    await Bun.write(
      join(at, "pipelines.conf"),
      `${base.replace("127.0.0.1:0", `127.0.0.1:${adminPort}`)}\n${file}`,
    )
    const program = [join(import.meta.dir, "../../bin/hookline")]
    await using dev = await startDev([...flags, ...(flags[0] === "-c" ? [] : ports)], at, { env, program })
    const [, command] = /Try it +(\S.*)\n/.exec(dev.output())!
    expect(dev.output()).not.toContain(secret)
    const { status, stdout } = await runToEnd(["sh", "-c", command!], { cwd: "/" })
    expect([status, stdout]).toEqual([0, expect.stringContaining("200")])
    await dev.printed(/ 200 {2}.*webhooks\[0\]@0/)
    expect((await post(url)).status).toBe(401)
  })
})

test("in 80 columns no line of the introduction is longer, but for commands to paste", async () => {
  const { ports } = await onFreePorts()
  const forward = "http://127.0.0.1:9/a-path-that-is-long-enough-to-break-the-line"
  await using dev = await startDev([...ports, "-p", "shopify", "--forward", forward], folder.make("narrow"), {
    columns: 80,
  })
  const lines = Bun.stripANSI(dev.output()).split("\r\n")
  // a path alone can't be broken
  const tooLong = lines.filter((it) => it.length > 80 && it.trim().includes(" "))
  expect(tooLong.map((it) => it.slice(2, 8))).toEqual(["Try it"])
  expect(lines.length).toBeGreaterThan(15)
})

test("forwarding to its own URL would be a loop, and is refused", async () => {
  const { ports, url } = await onFreePorts()
  const { status, stderr } = await hookline(["dev", ...ports, "--forward", url], { cwd: folder.make("loop") })
  expect(status).toBe(64)
  expect(stderr).toStartWith(
    `${url} is pipeline webhooks of this configuration, which publishes to log/webhooks: `,
  )
})

test("without a provider it says that nobody is verified; --verbose prints bodies", async () => {
  const at = folder.make("open")
  const { ports, url } = await onFreePorts()
  await using dev = await startDev([...ports, "--verbose", "--directory", "kept"], at)
  const introduction = await dev.printed(/Keys/)
  expect(introduction).toContain(
    "NOT VERIFIED: whoever reaches this URL can publish; name the sender with --provider\n",
  )
  expect(introduction).toContain(
    `curl -i -d '{"type":"ping","id":42}' ${url.replace("127.0.0.1", "localhost")}\n`,
  )
  await post(url)
  await dev.printed(
    / 200 {2}invoice\.paid {2}evt_1 {2}57 B {2}webhooks\[0\]@0\n +received, stored in .*\n\{\n {2}"id": "evt_1",\n {2}"type": /,
  )
  await post(url, {}, '{"a":')
  await dev.printed(/ 400 {2}- {2}- {2}5 B {2}refused: invalid_json: .*\n\{"a":\n/)
  dev.signal("SIGINT")
  await dev.printed(/\n1 published, 1 refused in \d+ s\n$/)
  expect(await dev.exited).toBe(0)
  expect(existsSync(join(at, "kept", "log.sqlite"))).toBe(true)
})

test("with a file its pipelines run, in lines for people", async () => {
  const at = folder.make("file")
  const [port] = await freePorts(1)
  await Bun.write(
    join(at, "pipelines.conf"),
    `[admin]
listen = off
[service]
reuse_port = on
[connection:log]
directory = log
[pipeline:orders:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /orders
[pipeline:orders:Verifier]
provider = stripe
secret = not-a-real-secret-000
[pipeline:orders:BrokerSink]
topic = orders
[pipeline:open:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /open
[pipeline:open:BrokerSink]
topic = open
`,
  )
  await using target = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  await using dev = await startDev(["-c", "pipelines.conf", "--forward", target.url.href], at)
  const introduction = await dev.printed(/Keys/)
  expect(introduction).not.toContain("not-a-real-secret")
  expect(introduction).not.toContain("Page")
  expect(introduction).toContain(
    `  Post to       http://localhost:${port}/orders\n                verified: stripe\n`,
  )
  expect(introduction).toContain(
    `http://localhost:${port}/open\n                NOT VERIFIED: whoever reaches this URL can publish; add [pipeline:open:Verifier] to the file\n`,
  )
  await post(`http://127.0.0.1:${port}/orders`, stripe("not-a-real-secret-000"))
  await dev.printed(/ 200 {2}orders {2}invoice\.paid {2}evt_1 {2}57 B {2}orders\[0\]@0 {2}-> \S+ 200 in/)
  await post(`http://127.0.0.1:${port}/open`)
  await dev.printed(/ 200 {2}open {2}invoice\.paid {2}evt_1 {2}57 B {2}open\[0\]@0 {2}-> \S+ 200 in/)
  dev.signal("SIGINT")
  expect(await dev.exited).toBe(0)
  expect(await dev.printed(/published/)).not.toMatch(/^\{"level"/m)
})

test("on a terminal a key prints the last body, and another one ends it", async () => {
  const { ports, url } = await onFreePorts()
  await using dev = await startDev(ports, folder.make("terminal"), { columns: 200 })
  expect(await dev.printed(/Keys/)).toContain(
    "b: the last event's body, r: send it again, o: open the page, ?: all keys, q or Ctrl-C: end",
  )
  dev.press("?")
  await dev.printed(/\r\nr {2}the last request, sent again\r\n/)
  dev.press("r")
  await dev.printed(/not sent again: no request is kept: /)
  dev.press("b")
  await dev.printed(/no event yet\r\n/)
  await post(url)
  await dev.printed(
    /webhooks\[0\]@0\r\n +received, stored in \d+\.\d ms; start with --provider to verify who sends\r\n/,
  )
  dev.press("b")
  await dev.printed(/\{\r\n {2}"id": "evt_1",\r\n {2}"type": "invoice\.paid",\r\n {2}"nested": \{\r\n/)
  dev.press("r")
  await dev.printed(/ 200 {2}invoice\.paid {2}evt_1 {2}57 B {2}webhooks\[0\]@1\r\n/)
  dev.press("q")
  await dev.printed(/\r\n2 published, 0 refused in \d+ s\r\n/)
  expect(await dev.exited).toBe(0)
})

test("where accepted requests are not kept, r does not send an older, refused one again", async () => {
  const at = folder.make("not-kept")
  const [port, adminPort] = await freePorts(2)
  const source = (id: string, types: string): string => `[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /${id}
content_types = ${types}
[pipeline:${id}:BrokerSink]
topic = ${id}
`
  writeFileSync(
    join(at, "pipelines.conf"),
    `[admin]
listen = 127.0.0.1:${adminPort}
[connection:log]
directory = log
${source("open", "application/json")}${source("closed", "text/csv")}`,
  )
  await using dev = await startDev(["-c", "pipelines.conf"], at, { columns: 200 })
  await dev.printed(/Keys/)
  expect((await post(`http://127.0.0.1:${port}/closed`)).status).toBe(415)
  const json = { "Content-Type": "application/json" }
  expect((await post(`http://127.0.0.1:${port}/open`, json)).status).toBe(200)
  await dev.printed(/open\[0\]@0/)
  dev.press("r")
  await dev.printed(/not sent again: the last request is not kept: /)
  dev.press("q")
  await dev.printed(/1 published, 1 refused in \d+ s/)
  expect(await dev.exited).toBe(0)
})

test("on a desktop's terminal the page opens at the start and by a key, unless told not to", async () => {
  const at = folder.make("desktop")
  const opened = join(at, "opened")
  for (const program of ["xdg-open", "open"])
    writeFileSync(join(at, program), `#!/bin/sh\necho "$1" >> ${opened}\n`, { mode: 0o755 })
  const env = { CI: "", SSH_CONNECTION: "", DISPLAY: ":0", PATH: `${at}:${process.env.PATH}` }
  const start = async (...args: readonly string[]) => {
    const { ports } = await onFreePorts()
    return startCommand(["dev", ...ports, ...args], at, { env, columns: 200 })
  }
  const openedUrls = (): string[] => (existsSync(opened) ? readFileSync(opened, "utf8").split("\n") : [])
  {
    await using dev = await start("--no-open")
    await dev.printed(/Keys/)
    dev.press("o")
    await until("opened by the key", () => openedUrls().length === 2)
    dev.press("q")
    await dev.exited
  }
  await using dev = await start()
  const [, page] = /Page {10}(\S+)\r\n/.exec(await dev.printed(/Keys/))!
  await until("opened at the start", () => openedUrls().length === 3)
  expect(openedUrls()[1]).toBe(page!)
})

test("on a terminal Ctrl-C ends it", async () => {
  const { ports } = await onFreePorts()
  await using dev = await startDev(ports, folder.make("ctrl-c"), { columns: 200 })
  dev.press("\u0003")
  await dev.printed(/\r\n0 published, 0 refused in \d+ s\r\n/)
  expect(await dev.exited).toBe(0)
})

test("what listens on a port is shown by a command that this machine has", async () => {
  const { ports } = await onFreePorts()
  await using dev = await startDev(ports, folder.make("holder"))
  expect(dev.output()).toContain("Keys")
  for (const tool of ["ss", "lsof", "none"]) {
    const PATH = folder.make(`path-${tool}`)
    if (tool !== "none") symlinkSync("/bin/true", join(PATH, tool))
    const { stderr } = await hookline(["dev", ...ports, "--directory", tool], {
      cwd: folder.path,
      env: { PATH },
    })
    const [, shows] = /stop what uses it(?: \((\w+) .* shows it\))? or set another port$/m.exec(stderr)!
    expect(shows ?? "none").toBe(tool)
  }
})

test("what can't be listened on or written is named by its flag", async () => {
  const { ports } = await onFreePorts()
  const at = folder.make("taken")
  await using dev = await startDev(ports, at)
  await dev.printed(/Keys/)
  const { status, stderr } = await hookline(["dev", ...ports], { cwd: at })
  expect(stderr).toMatch(
    /^--port: can't listen on 127\.0\.0\.1:\d+: the port is in use; .* set another port$/m,
  )
  expect(stderr).toMatch(/^--admin-port: can't listen on .* set another port$/m)
  expect(stderr).toMatch(/^--directory: The log in .* name another directory$/m)
  expect(status).not.toBe(0)
})

describe("refused with a message", () => {
  test.each([
    [
      "a secret of nobody",
      ["-s", "x"],
      64,
      "--provider is missing: secrets and settings are those of a provider",
    ],
    ["a provider that needs a public key", ["-p", "discord"], 64, "public_key: is missing"],
    [
      "a target that is no URL",
      ["--forward", "localhost:3000"],
      64,
      "the target is not an http or https URL",
    ],
    [
      "a file and what it says itself",
      ["-c", "x.conf", "--port", "80"],
      64,
      "option '-c, --config <file>' cannot be used with option '--port <number>'",
    ],
    ["a port that is none", ["--port", "70000"], 64, "Expected a port number."],
    ["a file that there is not", ["-c", "x.conf"], 66, "x.conf"],
  ])("%s", async (_, args, status, message) => {
    const ended = await hookline(["dev", ...args], { cwd: folder.path, env: { HOOKLINE_SECRET: "" } })
    expect(ended.stderr).toContain(message)
    expect(ended.status).toBe(status)
  })
})

test.skipIf(Bun.which("bash") === null)(
  "on a terminal Ctrl-Z suspends it, fg resumes it with its keys, and its events are there",
  async () => {
    const { ports, url } = await onFreePorts()
    const cwd = folder.make("suspended")
    await using shell = startCommand(["--norc", "-i"], cwd, {
      program: ["bash"],
      columns: 200,
      env: { PS1: "shell> " },
    })
    const dev = [...PROGRAM, "dev", ...ports]
    shell.press(`${dev.join(" ")}\r`)
    await shell.printed(/^ {2}Keys/m)
    shell.press("\u001a")
    await shell.printed(/Stopped/)
    shell.press("echo typed in lines\r")
    await shell.printed(/^typed in lines/m)
    const posted = post(url)
    shell.press("fg\r")
    expect((await posted).status).toBe(200)
    await shell.printed(/webhooks\[0\]@0/)
    shell.press("b")
    await shell.printed(/"type": "invoice\.paid"/)
    shell.press("q")
    await shell.printed(/1 published, 0 refused in \d+ s/)
    shell.press("exit\r")
    expect(await shell.exited).toBe(0)
  },
)
