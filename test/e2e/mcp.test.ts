import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { blocksOf } from "../support/documents.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { hasTestPackages } from "../support/tools.ts"
import { PROGRAM } from "../support/program.ts"

const SECRET = "obviously-fake-secret-of-tests"
const BODY = '{"action":"opened","number":7}'
const [COMMAND = "", ...ARGS] = PROGRAM

const configuration = (adminPort: number): string => `[connection:log]
directory = log
[pipeline:github:WebHookSource]
port = 0
path = /github
[pipeline:github:Verifier]
provider = github
secret = ${SECRET}
[pipeline:github:BrokerSink]
topic = github
[admin]
listen = 127.0.0.1:${adminPort}
capture = refused
`

const signatureBy = (secret: string): string =>
  `sha256=${createHmac("sha256", secret).update(BODY).digest("hex")}`

/** The command that docs/admin.md names to an assistant, for the file of a folder. */
function settingsOf(folder: string): readonly string[] {
  const shown = blocksOf("docs/admin.md").find(({ text }) => text.includes("mcpServers"))!.text
  const { command, args } = (
    JSON.parse(shown) as { mcpServers: { hookline: { command: string; args: string[] } } }
  ).mcpServers.hookline
  expect(command).toBe("hookline")
  return args.map((it) => it.replace("/etc/hookline", folder))
}

async function connected(folder: string, ...args: readonly string[]) {
  const { Client } = await import("@modelcontextprotocol/client")
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio")
  const client = new Client({ name: "test", version: "1" })
  await client.connect(
    new StdioClientTransport({
      command: COMMAND,
      args: [...ARGS, ...settingsOf(folder), ...args],
      cwd: folder,
      stderr: "inherit",
    }),
  )
  const call = async (name: string, given: { [name: string]: unknown } = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: given })
    const [first] = content
    const text = first?.type === "text" ? first.text : ""
    return {
      isError: isError === true,
      text,
      value: isError === true ? undefined : (JSON.parse(text) as unknown),
    }
  }
  return { client, call, [Symbol.asyncDispose]: () => client.close() }
}

test.skipIf(!hasTestPackages())(
  "an assistant sees why a request was refused and what was published, and acts only when that is allowed",
  async () => {
    using folder = temporaryFolder()
    await using running = await startHookline(configuration(await freePort()), { folder: folder.path })
    const post = async (secret: string): Promise<number> => {
      const headers = { "X-Hub-Signature-256": signatureBy(secret), "X-GitHub-Event": "issues" }
      return (await fetch(running.urls["github"]!, { method: "POST", body: BODY, headers })).status
    }
    expect([await post(SECRET), await post(` ${SECRET}`)]).toEqual([200, 401])

    await using looking = await connected(folder.path)
    const { tools } = await looking.client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      "status",
      "refused",
      "requests",
      "explain",
      "topics",
      "tail",
      "count_replay",
    ])
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
    expect((await looking.call("status")).value).toMatchObject({
      state: "ready",
      pipelines: [{ id: "github" }],
    })
    expect((await looking.call("refused", { pipeline: "github" })).value).toMatchObject([
      { reason: "unverified_no_match", count: 1 },
    ])
    expect((await looking.call("requests", { outcome: "rejected" })).value).toMatchObject([
      { pipeline: "github", status: 401 },
    ])
    const explained = await looking.call("explain")
    expect(explained.value).toMatchObject({ is_verified: false, reason: "no_match" })
    expect(explained.text).not.toContain(SECRET)
    expect((await looking.call("topics")).value).toMatchObject([{ connection: "log", topic: "github" }])
    const tailed = await looking.call("tail", { connection: "log", topic: "github" })
    expect(tailed.value).toMatchObject({ records: [{ topic: "github", offset: 0 }] })
    expect((await looking.call("tail", { connection: "log", topic: "none" })).isError).toBe(true)
    const from = { connection: "log", topic: "github" }
    expect((await looking.call("count_replay", { from })).value).toEqual({ records: 1, is_exact: true })

    await using acting = await connected(folder.path, "--allow-actions")
    const sent = await acting.call("send", { pipeline: "github", body: BODY })
    expect(sent.value).toMatchObject({ status: 200 })
    expect((await acting.call("count_replay", { from })).value).toEqual({ records: 2, is_exact: true })
    const replayed = await acting.call("replay", { from, to: { connection: "log", topic: "again" } })
    expect(replayed.value).toMatchObject({ request: { from } })
    const refused = await acting.call("replay", { from, to: { connection: "none", topic: "again" } })
    expect(refused.isError).toBe(true)
    expect(refused.text).toContain("none")
  },
)

test.skipIf(!hasTestPackages())(
  "without a running Hookline each answer says so, and its end comes with that of the input",
  async () => {
    using folder = temporaryFolder()
    await Bun.write(join(folder.path, "pipelines.conf"), configuration(await freePort()))
    const { client, call } = await connected(folder.path)
    const { isError, text } = await call("status")
    expect([isError, text]).toEqual([true, expect.stringContaining("no Hookline answers at 127.0.0.1:")])
    await client.close()

    const child = Bun.spawn([...PROGRAM, "mcp"], { cwd: folder.path, stdin: "pipe", stdout: "pipe" })
    await child.stdin.end()
    expect([await child.exited, await child.stdout.text()]).toEqual([0, ""])
  },
)
