import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { ServiceProblem } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { until } from "../support/kafka-options.ts"

const BODY = JSON.stringify({ id: "evt_1" })

const pipeline = (id: string, connection: string, source = ""): string => `
[pipeline:${id}:WebHookSource]
port = 0
path = /${id}
${source}
[pipeline:${id}:BrokerSink]
connection = ${connection}
topic = ${id}
`

/** A broker that does not answer behind two pipelines and a forward, one with a spool, and a pipeline whose sender is silent. */
const configuration = (dead: number, adminPort: number): string => `
[connection:kafka]
bootstrap_servers = localhost:${dead}
[connection:kept]
bootstrap_servers = localhost:${dead}
spool = spool.sqlite
[connection:log]
directory = data
[admin]
listen = 127.0.0.1:${adminPort}
[forward:app]
from = kafka/orders
url = http://localhost:${dead}/
${pipeline("orders", "kafka")}${pipeline("payments", "kafka")}${pipeline("spooled", "kept")}
${pipeline("quiet", "log", "expect_every = 3s")}
`

async function start() {
  return AdminApi.start(configuration(await freePort(), await freePort()))
}
const problemsOf = (api: AdminApi): Promise<ServiceProblem[]> => api.get("problems")
const idsOf = async (api: AdminApi): Promise<string[]> => (await problemsOf(api)).map(({ id }) => id)
const post = (api: AdminApi, id: string): Promise<Response> =>
  fetch(api.running.urls[id]!, { method: "POST", body: BODY })

test("a problem is acknowledged until it is over and muted until that is taken back, over a restart and in the order of the list", async () => {
  const text = configuration(await freePort(), await freePort())
  using folder = temporaryFolder()
  const begin = () => startHookline(text, { folder: folder.path })
  /** Those that are there: on a busy machine a connection may take seconds to open, and is listed last for minutes. */
  const listed = async ({ adminUrl }: { adminUrl: string | undefined }): Promise<ServiceProblem[]> => {
    const problems = (await (await fetch(`${adminUrl}/api/problems`)).json()) as ServiceProblem[]
    return problems.filter((it) => it.until === null)
  }
  const all = ["connection_down:kafka", "connection_down:kept", "silent:quiet"]
  const areThere = async (running: { adminUrl: string | undefined }) =>
    until("all problems are there", async () => {
      const ids = (await listed(running)).map(({ id }) => id)
      return all.every((id) => ids.includes(id))
    })
  const command = (...words: readonly string[]) =>
    hookline(["problems", ...words, "-c", join(folder.path, "pipelines.conf")], { cwd: folder.path })
  const first = await begin()
  await areThere(first)
  expect(await command("ack", "connection_down:kafka", "--by", "ana", "--for", "2h")).toMatchObject({
    status: 0,
    stdout: "connection_down:kafka acknowledged\n",
  })
  expect(await command("mute", "silent", "--by", "ben")).toMatchObject({ status: 0 })
  expect(await command("ack", "connection_down:other")).toMatchObject({ status: 66 })
  expect(await command("mute", "silnt")).toMatchObject({ status: 66 })
  await first.stop()
  await using second = await begin()
  await areThere(second)
  await until("they are known again", async () => (await listed(second)).at(-1)?.muted != null)
  const [kept, kafka, silent] = await listed(second)
  expect(kept).toMatchObject({ id: "connection_down:kept", acknowledged: null, muted: null })
  expect(kafka).toMatchObject({ id: "connection_down:kafka", acknowledged: { by: "ana" }, muted: null })
  expect(kafka!.acknowledged!.until).toBeGreaterThan(Date.now() + 3_600_000)
  expect(silent).toMatchObject({ id: "silent:quiet", acknowledged: null, muted: { by: "ben", until: null } })
  const metrics = await (await fetch(`${second.adminUrl}/metrics`)).text()
  expect(metrics).toContain('hookline_problems{kind="silent",severity="warning"} 0\n')
  const { stdout, status } = await command()
  expect(status).toBe(1)
  expect(stdout).toMatch(/^ {2}acknowledged by ana until \S+Z$/m)
  expect(stdout).toMatch(/^ {2}muted by ben$/m)
  expect(await command("unmute", "silent")).toMatchObject({ status: 0 })
  expect(await command("mute", "connection_down:kept")).toMatchObject({ status: 0 })
  expect((await listed(second)).map(({ id, muted }) => [id, muted !== null])).toEqual([
    ["silent:quiet", false],
    ["connection_down:kafka", false],
    ["connection_down:kept", true],
  ])
  // over, and nobody is on the next one
  await command("ack", "silent:quiet", "--by", "ana")
  const silence = async () => (await listed(second)).find(({ id }) => id === "silent:quiet")
  expect(await silence()).toMatchObject({ acknowledged: { by: "ana" } })
  expect((await fetch(second.urls["quiet"]!, { method: "POST", body: BODY })).status).toBe(200)
  await until("it is over", async () => (await silence()) === undefined)
  await until("it is silent again", async () => (await silence()) !== undefined)
  expect(await silence()).toMatchObject({ acknowledged: null })
})

describe("an outage of a broker", () => {
  test("is one problem, whatever pipelines, spools and forwards stand on it: in the API, status and metrics", async () => {
    await using api = await start()
    const refused = ["orders", "payments"].flatMap((id) => Array.from({ length: 6 }, () => post(api, id)))
    for (const { status } of await Promise.all(refused)) expect(status).toBe(503)
    expect((await post(api, "spooled")).status).toBe(200)
    await until("the silence is found", async () => (await idsOf(api)).includes("silent:quiet"))
    await until("the spooled event is counted", async () =>
      (await problemsOf(api)).some(({ cause }) => cause.includes("kept in its spool (1 events")),
    )
    const problems = (await problemsOf(api)).toSorted((a, b) => a.id.localeCompare(b.id))
    expect(problems).toMatchObject([
      {
        id: "connection_down:kafka",
        severity: "error",
        connection: "kafka",
        until: null,
        cause: expect.stringContaining("connection refused"),
        runbook: "docs/runbook.md#hooklinebrokerunavailable",
      },
      {
        id: "connection_down:kept",
        severity: "warning",
        connection: "kept",
        cause: expect.stringContaining("connection refused"),
      },
      { id: "silent:quiet", severity: "warning", pipeline: "quiet" },
    ])
    const file = join(api.folder, "pipelines.conf")
    const { stdout } = await hookline(["status", "-c", file], { cwd: api.folder })
    expect(stdout).toMatch(
      /^error: Connection kafka accepts no events: .*connection refused.* \(for \d+ s\)$/m,
    )
    expect(stdout).toMatch(/^warning: Events of kept are kept in its spool \(1 events, .*connection refused/m)
    expect(stdout).toMatch(/^\S.*: Hookline .*, configuration loaded at \d{4}-\S+Z$/m)
    const metrics = await (await fetch(`${api.running.adminUrl}/metrics`)).text()
    expect(metrics).toContain('hookline_problems{kind="connection_down",severity="error"} 1\n')
    expect(metrics).toContain('hookline_problems{kind="connection_down",severity="warning"} 1\n')
    expect(metrics).toContain('hookline_problems{kind="events_failing",severity="warning"} 0\n')
  })

  test("that is over is listed below what is there, with its end", async () => {
    await using api = await start()
    await until("the silence is found", async () => (await idsOf(api)).includes("silent:quiet"))
    // until it has lasted
    await until("it is told for how long", async () =>
      (await problemsOf(api)).some(({ id, since }) => id === "silent:quiet" && Date.now() - since > 5000),
    )
    expect((await post(api, "quiet")).status).toBe(200)
    await until("it is over", async () => {
      const last = (await problemsOf(api)).at(-1)!
      return last.id === "silent:quiet" && last.until !== null && last.until > last.since
    })
    const file = join(api.folder, "pipelines.conf")
    const { stdout } = await hookline(["status", "-c", file], { cwd: api.folder })
    expect(stdout).toMatch(/^over: No event of quiet.* \(ended \d+ s ago\)$/m)
  })
})
