import { expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { OutcomeFolder } from "../../src/extensions/reconcile/outcome-index.ts"
import { positionFile, Positions } from "../../src/replay/positions.ts"
import { keptIn } from "../../src/runtime/kept-files.ts"
import { holderFileOf } from "../../src/storage/database-file.ts"
import { recordsInLog, untilEpochsArePast } from "../support/embedded-log.ts"
import { GITHUB_SECRET, GitHubHook } from "../support/github-hook.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { temporaryFolder, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { kafkaAddressOf } from "../support/kafka-clients.ts"
import { freePort } from "../support/ports.ts"
import { Receiver } from "../support/receiver.ts"

setDefaultTimeout(300_000)

const configuration = (url: string, more = ""): string => `
[connection:log]
directory = log
kafka_listen = 127.0.0.1:0
[pipeline:hooks:WebHookSource]
[pipeline:hooks:Deduplicator]
key = json:/id
[pipeline:hooks:BrokerSink]
topic = hooks
key = json:/id
[forward:app]
from = log/hooks
url = ${url}
begin = beginning
on_refusal = skip
retries = 0
${more}`

async function post({ urls }: Started, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    const { status } = await fetch(urls["hooks"]!, { method: "POST", body: JSON.stringify({ id }) })
    expect(status).toBe(200)
  }
}

const idsOf = (receiver: Receiver): string[] =>
  receiver.all.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id)

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name}${n}`)

/** Runs a command in the folder. @returns what it prints */
async function run(cwd: string, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await hooklineInProcess(args, { cwd })
  expect([args, status, stderr]).toEqual([args, 0, ""])
  return stdout
}

const restore = (cwd: string): Promise<string> => run(cwd, "log", "restore", "backup")

test.each([
  [
    "a backup that is restored to an empty disk",
    async (cwd: string) => {
      rmSync(join(cwd, "log"), { recursive: true })
      await restore(cwd)
    },
  ],
  ["a backup that is restored over the files", restore],
  [
    "a rescue",
    async (cwd: string) => {
      await run(cwd, "log", "rescue", "rescued")
      renameSync(join(cwd, "log"), join(cwd, "damaged"))
      renameSync(join(cwd, "rescued"), join(cwd, "log"))
    },
  ],
])("%s has the position and the refused records of a forward", async (_, bringBack) => {
  using folder = temporaryFolder()
  const cwd = folder.path
  await using receiver = new Receiver(
    ({ body }) => new Response("", { status: body.includes("poison") ? 422 : 200 }),
  )
  const text = configuration(receiver.url)
  const waiting = numbered("waiting", 20)
  {
    await using service = await startInProcess(text, { folder: cwd })
    await post(service, ...numbered("before", 5), "poison", "after")
    await service.logged(({ msg }) => msg === "record refused")
    await receiver.down()
    await post(service, ...waiting)
    await run(cwd, "log", "backup", "backup")
  }
  expect(await run(cwd, "forward", "failures", "app")).toContain("422")
  const posted = receiver.all.length
  await bringBack(cwd)
  receiver.up()
  await using service = await startInProcess(text, { folder: cwd })
  await post(service, "last")
  await receiver.offset(waiting.length + 7)
  const now = idsOf(receiver).slice(posted)
  // what was posted last may be posted again
  expect(now.filter((id) => id !== "after")).toEqual([...waiting, "last"])
  expect(await run(cwd, "forward", "failures", "app")).toContain("422")
})

test("each file of a log's folder is one that backups and rescues know", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver()
  await using hook = new GitHubHook(`http://127.0.0.1:${await freePort()}/github`)
  const reconciled = `[pipeline:github:WebHookSource]
host = 127.0.0.1
port = ${new URL(hook.url).port}
path = /github
[pipeline:github:Verifier]
provider = github
secret = ${GITHUB_SECRET}
[pipeline:github:BrokerSink]
topic = github
${hook.section("github")}
`
  const directory = join(folder.path, "log")
  await using service = await startInProcess(configuration(receiver.url, reconciled), { folder: folder.path })
  await kafkaAddressOf(service)
  await post(service, "a")
  await receiver.count(1)
  for (const kind of ["handler", "replay"] as const)
    Positions.advance(positionFile(directory, kind, "x")).close()
  await using outcomes = new OutcomeFolder(directory, "stripe")
  await outcomes.append(1, "accepted\ta\n", 1)
  const kept = keptIn(directory)
  const claimed = new Set([
    ...kept.map(({ path }) => path),
    ...kept.flatMap(({ location }) => {
      if (location === undefined) return []
      const { file, lockFile } = location
      return [`${file}-wal`, `${file}-shm`, lockFile, holderFileOf(lockFile)]
    }),
  ])
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((it) => !it.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name))
  expect(files.filter((path) => !claimed.has(path) && !path.endsWith("/.gitignore"))).toEqual([])
  expect(kept.map(({ name }) => name)).toEqual([
    "reconcile-stripe.outcomes/1-" + process.pid,
    "forwards/app.sqlite",
    "handlers/x.sqlite",
    "replays/x.sqlite",
    "reconcile-github.sqlite",
    "groups.sqlite",
    "marks.sqlite",
    "log.sqlite",
  ])
})

test("log check names a file beside the log that can't be read", async () => {
  using folder = temporaryFolder()
  await using receiver = new Receiver()
  {
    await using service = await startInProcess(configuration(receiver.url), { folder: folder.path })
    await post(service, "a")
    await receiver.count(1)
  }
  const file = join(folder.path, "log/forwards/app.sqlite")
  expect(JSON.parse(await run(folder.path, "log", "check", "--json"))).toMatchObject({
    beside: expect.arrayContaining([
      { file: expect.stringMatching(/forwards\/app\.sqlite$/), problem: null },
    ]),
  })
  writeFileSync(file, "no database")
  const checked = await hooklineInProcess(["log", "check"], { cwd: folder.path })
  expect([checked.status, checked.stdout]).toEqual([1, expect.stringContaining("forwards/app.sqlite")])
})

test.each([
  ["at once", 0],
  ["once it has grown past the position", 30],
])(
  "an earlier copy of the log is put back: a forward continues %s where the two agree",
  async (_, meanwhile) => {
    using folder = temporaryFolder()
    const cwd = folder.path
    const file = join(cwd, "log/log.sqlite")
    await using receiver = new Receiver(
      ({ body }) => new Response("", { status: body.includes("poison") ? 422 : 200 }),
    )
    const text = configuration(receiver.url)
    const start = (own = text) => startInProcess(own, { folder: cwd })
    {
      await using service = await start()
      await post(service, ...numbered("common", 10))
      await receiver.count(10)
    }
    cpSync(file, `${file}.copy`)
    {
      await using service = await start()
      await post(service, ...numbered("gone", 10), "poison", "end")
      await receiver.offset(21)
    }
    renameSync(`${file}.copy`, file)
    await untilEpochsArePast()
    const later = numbered("later", meanwhile)
    if (meanwhile > 0) {
      await using service = await start(text.replace(/\[forward:app\][^]*/, ""))
      await post(service, ...later)
    }
    const before = receiver.all.length
    await using service = await start()
    const set = await service.logged(({ msg }) =>
      msg.startsWith("an earlier copy of the log is in its place"),
    )
    expect(set.msg).toContain("hooks[0] from offset 10 instead of 22 on")
    await post(service, "last")
    await receiver.offset(10 + meanwhile)
    expect(idsOf(receiver).slice(before)).toEqual([...later, "last"])
    const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text()
    expect(metrics).toContain('hookline_forward_set_back_partitions{forward="app"} 1')
    expect(await run(cwd, "forward", "failures", "app")).not.toContain("422")
    // knowingly, and once
    await service.stop()
    await using again = await start()
    await post(again, "again")
    await receiver.offset(11 + meanwhile)
    expect(again.log.filter(({ level }) => level !== "info").map(({ msg }) => msg)).not.toContainEqual(
      expect.stringContaining("earlier copy"),
    )
  },
)

/** Overwrites pages of the log's records. @param which of the pages with records, from the first */
function damage(file: string, which: readonly number[]): void {
  const pageBytes = 16_384
  const bytes = readFileSync(file)
  const leaves = [...Array(bytes.length / pageBytes).keys()].filter((page) => {
    const at = page * pageBytes
    return (
      page > 0 &&
      bytes[at] === 13 &&
      bytes.includes("filled", at) &&
      bytes.indexOf("filled", at) < at + pageBytes
    )
  })
  for (const at of which)
    crypto.getRandomValues(bytes.subarray(leaves[at]! * pageBytes, (leaves[at]! + 1) * pageBytes))
  writeFileSync(file, bytes)
}

test.each([
  [
    "was deleted",
    async (cwd: string) => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(cwd, `log/log.sqlite${suffix}`), { force: true })
    },
    0,
  ],
  [
    "is an earlier copy",
    async (cwd: string) => renameSync(join(cwd, "copy"), join(cwd, "log/log.sqlite")),
    20,
  ],
  [
    "was rescued",
    async (cwd: string) => {
      damage(join(cwd, "log/log.sqlite"), [2, 4])
      expect(await hooklineInProcess(["log", "rescue", "rescued"], { cwd })).toMatchObject({ status: 1 })
      renameSync(join(cwd, "log"), join(cwd, "damaged"))
      renameSync(join(cwd, "rescued"), join(cwd, "log"))
    },
    undefined,
  ],
])(
  "events whose records a log that %s lacks are published when they come again, others are not",
  async (_, replace, left) => {
    using folder = temporaryFolder()
    const cwd = folder.path
    const text = configuration("http://127.0.0.1:9").replace(/\[forward:app\][^]*/, "")
    const ids = numbered("filled", 60)
    const padded = async (service: Started, own: readonly string[]) => {
      for (const id of own) {
        const body = JSON.stringify({ id, text: "x".repeat(1500) })
        expect((await fetch(service.urls["hooks"]!, { method: "POST", body })).status).toBe(200)
      }
    }
    {
      await using service = await startInProcess(text, { folder: cwd })
      await padded(service, ids.slice(0, 20))
    }
    cpSync(join(cwd, "log/log.sqlite"), join(cwd, "copy"))
    {
      await using service = await startInProcess(text, { folder: cwd })
      await padded(service, ids.slice(20))
    }
    await replace(cwd)
    const inLog = async () =>
      (await recordsInLog(join(cwd, "log"), "hooks")).map(
        ({ value }) => (JSON.parse(Buffer.from(value).toString()) as { id: string }).id,
      )
    const had = left === 0 ? [] : await inLog()
    if (left !== undefined) expect(had).toHaveLength(left)
    expect(had.length).toBeLessThan(ids.length)
    await using service = await startInProcess(text, { folder: cwd })
    await padded(service, ids)
    const dropped = service.log.find(({ msg }) =>
      msg.startsWith("the log does not have the records of these keys"),
    )
    expect(dropped).toMatchObject({ keys: ids.length - had.length })
    const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text()
    expect(/^hookline_deduplicator_dropped_keys\{[^}]*\} (\d+)$/m.exec(metrics)![1]).toBe(
      `${ids.length - had.length}`,
    )
    await service.stop()
    const all = await inLog()
    expect(all).toHaveLength(ids.length)
    expect(new Set(all)).toEqual(new Set(ids))
  },
)
