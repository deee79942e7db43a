import { expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { recordsInLog } from "../support/embedded-log.ts"
import { endingWithThisProcess } from "../support/child.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, eventsIn } from "../support/findings.ts"
import { hookline, startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { joinWithKcat, kafkaAddressOf } from "../support/kafka-clients.ts"
import { hasKcat } from "../support/kcat.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { freePort } from "../support/ports.ts"
import { PROGRAM } from "../support/program.ts"

const folder = folderOfTests()

const BACKUPS = isFull ? 20 : 3
/** Between the events of each of 32 senders. */
const PAUSE_MS = isFull ? 1 : 20

const configuration = (kafka: number): string => `[connection:log]
directory = log
kafka_listen = 127.0.0.1:0
[connection:kafka]
bootstrap_servers = 127.0.0.1:${kafka}
spool = spool.sqlite
[pipeline:webhooks:WebHookSource]
path = /webhooks
[pipeline:webhooks:Deduplicator]
key = json:/n
[pipeline:webhooks:BrokerSink]
connection = log
topic = webhooks
key = json:/k
[pipeline:spooled:WebHookSource]
path = /spooled
[pipeline:spooled:Deduplicator]
key = json:/n
store = keys
[pipeline:spooled:BrokerSink]
connection = kafka
topic = spooled
key = json:/k
[pipeline:asana:WebHookSource]
path = /asana
[pipeline:asana:Verifier]
provider = asana
secret_file = asana.secret
[pipeline:asana:BrokerSink]
connection = log
topic = asana
`

/** What a file of a backup answers, opened as it lies there. */
function ask<T>(file: string, sql: string): T[] {
  using db = new Database(file, { readonly: true })
  const rows = db.query<T, []>(sql).all()
  expect(db.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }])
  return rows
}

const count = (file: string, table: string): number =>
  ask<{ n: number }>(file, `SELECT count(*) AS n FROM ${table}`)[0]!.n

/** Counts the rows of a table; the file may be in use. */
function rowsOf(file: string, table: string): number {
  using db = new Database(file, { readonly: true })
  db.run("PRAGMA busy_timeout = 60000")
  const isMade = db.query("SELECT 1 FROM sqlite_schema WHERE name = ?").get(table) !== null
  return isMade ? db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()!.n : 0
}

const valuesIn = async (directory: string): Promise<string[]> =>
  (await recordsInLog(directory, "webhooks")).map(({ value }) => Buffer.from(value).toString())

async function backUp(own: string, name: string): Promise<string> {
  const target = join(own, name)
  const ended = await hookline(["log", "backup", target, "-c", join(own, "pipelines.conf"), "--json"])
  expect([ended.status, ended.stderr]).toEqual([0, ""])
  const listed = JSON.parse(ended.stdout) as { files: { file: string }[] }
  expect(listed.files.map(({ file }) => file).toSorted()).toEqual([
    "kafka/spool.sqlite",
    "log/groups.sqlite",
    "log/log.sqlite",
    "log/marks.sqlite",
    "other-1/marks.sqlite",
    "secrets/1-asana.secret",
    "state/forwards/log-webhooks.sqlite",
  ])
  return target
}

/** That nothing of a backup is ahead of its log or spool, and each record has its key. */
function checkConsistent(backup: string): void {
  const log = join(backup, "log/log.sqlite")
  const [{ end }] = ask<{ end: number }>(log, "SELECT max(offset) + 1 AS end FROM records_1") as [
    { end: number },
  ]
  const offsets = ask<{ offset: number }>(
    join(backup, "log/groups.sqlite"),
    "SELECT committed ->> 'offset' AS offset FROM offsets",
  )
  const next = ask<{ next: number }>(
    join(backup, "state/forwards/log-webhooks.sqlite"),
    "SELECT next FROM positions",
  )
  for (const { offset } of offsets) expect(offset).toBeLessThanOrEqual(end)
  for (const one of next) expect(one.next).toBeLessThanOrEqual(end)
  expect(offsets).toHaveLength(1)
  expect(next).toHaveLength(1)
  const keys = new Set([
    ...ask<{ key: string }>(join(backup, "log/marks.sqlite"), "SELECT key FROM marks").map(({ key }) => key),
    ...ask<{ key: string }>(log, "SELECT key FROM dedupe_keys").map(({ key }) => key),
  ])
  expect(keys.size).toBe(count(log, "records_1"))
  const spooled = count(join(backup, "kafka/spool.sqlite"), "records_1")
  expect(count(join(backup, "other-1/marks.sqlite"), "marks")).toBeLessThanOrEqual(spooled)
  expect(readFileSync(join(backup, "secrets/1-asana.secret"), "utf8")).toBe("obviously-fake\n")
}

async function postAgain(running: RunningHookline, body: string): Promise<number> {
  return (await fetch(running.urls["webhooks"]!, { method: "POST", body })).status
}

test.skipIf(!hasKcat())(
  `${BACKUPS} backups under load are whole and of one moment each; a restored one doubles no event, and its groups get all that comes`,
  async () => {
    const own = folder.make("load")
    writeFileSync(join(own, "asana.secret"), "obviously-fake\n", { mode: 0o600 })
    const text = configuration(await freePort())
    const received = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
    let restored = ""
    let atBackup = 0
    {
      await using running = await startHookline(text, { folder: own })
      const address = await kafkaAddressOf(running)
      await using senders = new NumberedSenders(
        { url: running.urls["webhooks"]!, pid: running.pid },
        { pauseMs: PAUSE_MS },
      )
      await using spooled = new NumberedSenders(
        { url: running.urls["spooled"]!, pid: running.pid },
        { keys: 8, firstNumber: 1_000_000, pauseMs: 2 * PAUSE_MS },
      )
      await senders.many(500)
      await using consumer = joinWithKcat(address, "billing", "webhooks", {
        "auto.commit.interval.ms": "50",
        // the restored group has it as a member
        "session.timeout.ms": "6000",
      })
      await consumer.said(/key k1/)
      const forward = Bun.spawn(
        endingWithThisProcess(
          ...PROGRAM,
          "forward",
          "log/webhooks",
          `${received.url}`,
          "-c",
          join(own, "pipelines.conf"),
          "--begin",
          "beginning",
        ),
        { stdout: "ignore", stderr: "ignore", cwd: own },
      )
      const position = join(own, ".hookline/forwards/log-webhooks.sqlite")
      while (!existsSync(position) || rowsOf(position, "positions") === 0) await senders.many(10)
      while (rowsOf(join(own, "log/groups.sqlite"), "offsets") === 0) await senders.many(10)
      for (let n = 0; n < BACKUPS; n++) {
        await senders.many(300)
        const answered = senders.posted.filter(isAcknowledged)
        restored = await backUp(own, `backup-${n}`)
        checkConsistent(restored)
        const found = compare(answered, eventsIn(await valuesIn(join(restored, "log"))))
        expect(found).toMatchObject({ lost: 0, doubled: 0 })
        atBackup = answered.length
      }
      await senders.many(500)
      await senders.stop()
      await spooled.stop()
      report(
        `backup under load, ${BACKUPS} times`,
        compare(senders.posted, eventsIn(await valuesIn(join(own, "log")))),
      )
      expect(await postAgain(running, `{"n":1999999,"k":"last"}`)).toBe(200)
      await consumer.said(/^key last$/m)
      await consumer.end("SIGTERM")
      forward.kill("SIGTERM")
      await forward.exited
    }
    void received.stop(true)
    const kept = await valuesIn(join(restored, "log"))
    expect(kept.length).toBeGreaterThanOrEqual(atBackup)

    const ended = await hookline(["log", "restore", restored])
    expect([ended.status, ended.stderr]).toEqual([0, ""])
    await using again = await startHookline(text, { folder: own })
    expect(await postAgain(again, kept[0]!.replace(/,"received_at.*/, "}"))).toBe(200)
    for (let n = 0; n < 20; n++)
      expect(await postAgain(again, `{"n":${2_000_000 + n},"k":"new${n}"}`)).toBe(200)
    const values = await valuesIn(join(own, "log"))
    expect(values.slice(0, kept.length)).toEqual(kept)
    expect(values.length).toBe(kept.length + 20)
    await using consumer = joinWithKcat(await kafkaAddressOf(again), "billing", "webhooks")
    await consumer.said(/^key new19$/m)
    expect([...consumer.output().matchAll(/^key new\d+$/gm)].map(String)).toEqual(
      Array.from({ length: 20 }, (_, n) => `key new${n}`),
    )
  },
)

test("a restore while Hookline runs is refused and changes nothing, as is a backup into a folder with files", async () => {
  const own = folder.make("refused")
  await using running = await startHookline(configuration(await freePort()), { folder: own })
  expect(await postAgain(running, `{"n":1,"k":"a"}`)).toBe(200)
  const config = ["-c", join(own, "pipelines.conf")]
  const backup = join(own, "backup")
  expect((await hookline(["log", "backup", backup, ...config])).status).toBe(0)
  const again = await hookline(["log", "backup", backup, ...config])
  expect([again.status, again.stderr]).toEqual([
    64,
    expect.stringContaining(`${backup} is not empty; name a new folder`),
  ])
  const restore = await hookline(["log", "restore", backup])
  expect([restore.status, restore.stderr]).toEqual([
    69,
    expect.stringContaining("is being written to by process"),
  ])
  expect(await postAgain(running, `{"n":2,"k":"a"}`)).toBe(200)
  expect(await valuesIn(join(own, "log"))).toHaveLength(2)
})
