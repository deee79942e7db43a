import { expect, setDefaultTimeout, test } from "bun:test"
import { copyFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { recordsInLog, untilEpochsArePast } from "../support/embedded-log.ts"
import { report } from "../support/fault-table.ts"
import { hookline, startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { Receiver } from "../support/receiver.ts"

setDefaultTimeout(600_000)

const NAMES = ["one", "two"] as const
type Name = (typeof NAMES)[number]

/** Two logs, each with a pipeline that has a Deduplicator, and an application that its events are forwarded to. */
const configuration = (urls: { readonly [name in Name]: string }): string =>
  NAMES.map(
    (name) => `[connection:${name}]
directory = ${name}
[pipeline:${name}:WebHookSource]
path = /${name}
[pipeline:${name}:Deduplicator]
key = json:/id
[pipeline:${name}:BrokerSink]
connection = ${name}
topic = hooks
[forward:${name}]
from = ${name}/hooks
url = ${urls[name]}
begin = beginning
retries = 0
`,
  ).join("")

const idOf = (bytes: Uint8Array): string => (JSON.parse(Buffer.from(bytes).toString()) as { id: string }).id

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name} ${n}`)

async function post({ urls }: RunningHookline, name: Name, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    expect((await fetch(urls[name]!, { method: "POST", body: JSON.stringify({ id }) })).status).toBe(200)
}

const inLog = async (cwd: string, name: Name): Promise<string[]> =>
  (await recordsInLog(join(cwd, name), "hooks")).map(({ value }) => idOf(value))

const logFiles = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.startsWith("log.sqlite"))

/** Puts a file in the place of the one of the first log, as of a service that was stopped. */
function put(cwd: string, file: string): void {
  for (const suffix of ["-wal", "-shm"]) rmSync(join(cwd, `one/log.sqlite${suffix}`), { force: true })
  copyFileSync(file, join(cwd, "one/log.sqlite"))
}

test.each<[string, (cwd: string) => void]>([
  [
    "two logs swapped, and all events sent again",
    (cwd) => {
      renameSync(join(cwd, "one"), join(cwd, "aside"))
      mkdirSync(join(cwd, "one"))
      // what lies beside the logs stays
      for (const name of readdirSync(join(cwd, "aside")).filter((it) => !it.startsWith("log.sqlite")))
        renameSync(join(cwd, "aside", name), join(cwd, "one", name))
      for (const name of logFiles(join(cwd, "two")))
        renameSync(join(cwd, "two", name), join(cwd, "one", name))
      for (const name of logFiles(join(cwd, "aside")))
        renameSync(join(cwd, "aside", name), join(cwd, "two", name))
    },
  ],
  [
    "an older copy of a log put back, and all events sent again",
    (cwd) => put(cwd, join(cwd, "older/log.sqlite")),
  ],
  [
    "a log restored from a backup beside newer files, and all events sent again",
    (cwd) => put(cwd, join(cwd, "backup/one/log.sqlite")),
  ],
])("%s", async (scenario, exchange) => {
  using folder = temporaryFolder()
  const cwd = folder.path
  await using one = new Receiver()
  await using two = new Receiver()
  const receivers = { one, two }
  const text = configuration({ one: one.url, two: two.url })
  {
    await using service = await startHookline(text, { folder: cwd })
    for (const name of NAMES) await post(service, name, numbered(`${name}, first`, 40))
    const { status, stderr } = await hookline(["log", "backup", "backup"], { cwd })
    expect([status, stderr]).toEqual([0, ""])
    expect(await service.stop()).toBe(0)
  }
  mkdirSync(join(cwd, "older"))
  cpSync(join(cwd, "one/log.sqlite"), join(cwd, "older/log.sqlite"))
  const later = { one: numbered("one, later", 40), two: numbered("two, later", 25) }
  {
    await using service = await startHookline(text, { folder: cwd })
    for (const name of NAMES) {
      await post(service, name, later[name])
      await receivers[name].count(40 + later[name].length)
    }
    await service.stop()
  }
  exchange(cwd)
  await untilEpochsArePast()
  const all = {
    one: [...numbered("one, first", 40), ...later.one],
    two: [...numbered("two, first", 40), ...later.two],
  }
  const had = { one: await inLog(cwd, "one"), two: await inLog(cwd, "two") }
  const before = { one: one.all.length, two: two.all.length }
  {
    await using service = await startHookline(text, { folder: cwd })
    for (const name of NAMES) {
      await post(service, name, [...all[name], `${name}, last`])
      while (!receivers[name].all.slice(before[name]).some(({ body }) => idOf(body) === `${name}, last`))
        await receivers[name].count(receivers[name].all.length + 1)
    }
  }
  let [sent, found, lost, doubled] = [0, 0, 0, 0]
  for (const name of NAMES) {
    const stored = await inLog(cwd, name)
    const own = new Set([...all[name], `${name}, last`])
    const expected = new Set([...had[name], ...own])
    sent += own.size
    found += stored.filter((id) => own.has(id)).length
    lost += [...expected].filter((id) => !stored.includes(id)).length
    doubled += stored.length - new Set(stored).size
    // what came to the log since is posted; nothing of it is passed over
    const posted = receivers[name].all.slice(before[name]).map(({ body }) => idOf(body))
    const isNew = (id: string): boolean => !had[name].includes(id)
    expect([name, stored.filter(isNew)]).toEqual([name, posted.filter(isNew)])
    const ever = new Set(receivers[name].all.map(({ body }) => idOf(body)))
    expect(stored.filter((id) => !ever.has(id))).toEqual([])
  }
  report(scenario, { sent, acknowledged: sent, found, lost, doubled, longestWaitMs: undefined })
  expect([lost, doubled]).toEqual([0, 0])
})

test("retention_bytes with a busy topic and a quiet one: the oldest go first over both", async () => {
  using folder = temporaryFolder()
  const text = `[connection:log]
directory = log
retention_bytes = 1MiB
${["busy", "quiet"].map((name) => `[pipeline:${name}:WebHookSource]\npath = /${name}\n[pipeline:${name}:BrokerSink]\ntopic = ${name}\n`).join("")}`
  await using service = await startHookline(text, { folder: folder.path })
  let number = 0
  const send = async (name: string, bytes: number): Promise<void> => {
    const body = JSON.stringify({ id: `${number++}`, pad: "x".repeat(bytes) })
    expect((await fetch(service.urls[name]!, { method: "POST", body })).status).toBe(200)
  }
  for (let n = 0; n < 200; n++) await send("busy", 10_000)
  for (let n = 0; n < 20; n++) {
    await send("quiet", 10)
    for (let more = 0; more < 3; more++) await send("busy", 10_000)
  }
  const numbersIn = async (topic: string): Promise<number[]> =>
    (await recordsInLog(join(folder.path, "log"), topic)).map(({ value }) => Number(idOf(value)))
  let busy = await numbersIn("busy")
  for (; busy.length > 110; busy = await numbersIn("busy")) await Bun.sleep(50)
  const quiet = await numbersIn("quiet")
  const oldest = busy[0]!
  const younger = Array.from({ length: 20 }, (_, n) => 200 + 4 * n).filter((n) => n > oldest)
  const lost = younger.filter((n) => !quiet.includes(n)).length
  const sent = younger.length
  expect(sent).toBe(20)
  report("retention_bytes with a quiet topic beside a busy one", {
    sent,
    acknowledged: sent,
    found: sent - lost,
    lost,
    doubled: 0,
    longestWaitMs: undefined,
  })
  expect(lost).toBe(0)
})
