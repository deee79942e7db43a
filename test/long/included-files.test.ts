import { expect, test } from "bun:test"
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { hookline, startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { published, statusOf } from "../support/reloaded.ts"

const root = folderOfTests()

const MAIN = `include = teams.d/*.conf
[connection:log]
directory = log
[defaults:WebHookSource]
host = 127.0.0.1
port = 0
[admin]
listen = off
`
const team = (id: string, keys = ""): string =>
  `[pipeline:${id}:WebHookSource]\npath = /${id}\n[pipeline:${id}:BrokerSink]\ntopic = ${id}\n${keys}`

/** A folder with a file for each team. */
function teams(name: string, ids: readonly string[]): { folder: string; fileOf: (id: string) => string } {
  const folder = root.make(name)
  mkdirSync(join(folder, "teams.d"))
  const fileOf = (id: string): string => join(folder, "teams.d", `${id}.conf`)
  for (const id of ids) writeFileSync(fileOf(id), team(id))
  return { folder, fileOf }
}

const names = (of: number): string[] =>
  Array.from({ length: of }, (_, i) => `team-${String(i + 1).padStart(2, "0")}`)

const reloads = (running: RunningHookline, count: number): Promise<unknown> =>
  running.logged(() => running.log.filter(({ msg }) => msg === "reloaded").length >= count)

test("forty teams are forty included files, and each takes an event", async () => {
  const ids = names(40)
  const { folder } = teams("forty", ids)
  await using running = await startHookline(MAIN, { folder })
  expect(Object.keys(running.urls)).toEqual(ids)
  const statuses = await Promise.all(ids.map((id) => statusOf(running.urls[id], `{"team":"${id}"}`)))
  expect(statuses).toEqual(ids.map(() => 200))
  const topics = await hookline(["topics", "-c", join(folder, "pipelines.conf")])
  const rows = topics.stdout.trimEnd().split("\n").slice(1)
  expect(rows.map((row) => row.split(/ +/).slice(0, 3))).toEqual(ids.map((id) => [`log/${id}`, "1", "1"]))
})

test("a broken file stops a reload as a whole and is named; new, changed and removed files take effect", async () => {
  const { folder, fileOf } = teams("reloaded", ["a", "b"])
  await using running = await startHookline(MAIN, { folder })
  const { a, b } = running.urls
  writeFileSync(fileOf("a"), team("a2"))
  writeFileSync(fileOf("b"), team("b", "topik = x\n"))
  writeFileSync(fileOf("c"), team("c"))
  running.signal("SIGHUP")
  await running.logged(({ msg }) => msg.startsWith("reload failed"))
  expect(running.log.filter(({ level }) => level === "error").map(({ msg }) => msg)).toEqual([
    `${fileOf("b")}:5: [pipeline:b:BrokerSink] topik: unknown key; did you mean \`topic\`?`,
    "reload failed; configuration unchanged",
  ])
  expect([await statusOf(a), await statusOf(b)]).toEqual([200, 200])
  expect(Object.keys(running.urls)).toEqual(["a", "b"])

  rmSync(fileOf("b"))
  running.signal("SIGHUP")
  const { pipelines_added: added, pipelines_removed: removed } = await running.logged(
    ({ msg }) => msg === "reloaded",
  )
  expect([added, removed]).toEqual([
    ["a2", "c"],
    ["a", "b"],
  ])
  expect([await statusOf(running.urls["a2"]), await statusOf(running.urls["c"])]).toEqual([200, 200])
})

test("--watch follows included files: a new one, a changed one, what one references, and a removed one", async () => {
  const { folder, fileOf } = teams("watched", ["a"])
  await using running = await startHookline(MAIN, { folder, args: ["--watch"] })
  writeFileSync(join(folder, "b.conf.new"), team("b", "headers = ${file:headers}\n"))
  writeFileSync(join(folder, "teams.d/headers"), "v=path")
  renameSync(join(folder, "b.conf.new"), fileOf("b"))
  await running.logged(({ pipelines_added: added }) => Bun.deepEquals(added, ["b"]))
  expect(await statusOf(running.urls["b"])).toBe(200)

  writeFileSync(fileOf("a"), team("a", "key = path\n"))
  await running.logged(({ pipelines_changed: changed }) => Bun.deepEquals(changed, ["a"]))

  // relative to the included file
  writeFileSync(join(folder, "teams.d/headers"), "w=path")
  await running.logged(({ pipelines_changed: changed }) => Bun.deepEquals(changed, ["b"]))

  const before = running.log.filter(({ msg }) => msg === "reloaded").length
  rmSync(fileOf("b"))
  await reloads(running, before + 1)
  expect(running.log.findLast(({ msg }) => msg === "reloaded")).toMatchObject({ pipelines_removed: ["b"] })
  expect(await statusOf(running.urls["a"])).toBe(200)
  expect(await published(folder, "a")).toBe(1)
})

test("a secret of an included file is read from that file's folder", async () => {
  const { folder, fileOf } = teams("with a secret", [])
  writeFileSync(
    fileOf("a"),
    team("a", "[pipeline:a:Verifier]\nprovider = token\nheader = X-Token\nsecret = ${file:secret}\n"),
  )
  writeFileSync(join(folder, "teams.d/secret"), "obviously-fake-secret\n")
  await using running = await startHookline(MAIN, { folder })
  const send = async (token: string): Promise<number> =>
    (await fetch(running.urls["a"]!, { method: "POST", body: "{}", headers: { "X-Token": token } })).status
  expect(await send("wrong")).toBe(401)
  expect(await send("obviously-fake-secret")).toBe(200)
})
