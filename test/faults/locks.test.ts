import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { canModelDisks, compileDiskModel, orderedDisk } from "../support/disk-model.ts"
import { fault, onLog } from "../support/fault.ts"
import { hookline, reload, startHookline, temporaryFolder } from "../support/hookline.ts"
import { configurationOf } from "../support/webhook-service.ts"

setDefaultTimeout(300_000)

const folder = temporaryFolder()
const library = compileDiskModel(folder.path)
afterAll(() => folder[Symbol.dispose]())

const REFUSED =
  /The log in .* can't be locked: its file system grants a lock to a second process while the first one has it/

const onDirectory = (connection: string): string => configurationOf({ connection, topic: "webhooks" })

/** Starts a Hookline on a configuration, as a test whose process has the environment `env` expects it to be refused. */
async function refused(name: string, configuration: string, env: { readonly [name: string]: string }) {
  const file = join(folder.make(name), "pipelines.conf")
  writeFileSync(file, configuration)
  return hookline(["run", "-c", file], { env })
}

describe.skipIf(!canModelDisks())("a file system whose locks do nothing", () => {
  test("keeps a second instance from the log of the first, whose files it leaves as they are", async () => {
    const log = folder.make("log")
    const disk = orderedDisk(library!, `${log}.orders`, log)
    disk.ignoreLocks(true)
    const { findings } = await fault("a second instance, where locks do nothing", onLog("", log), {
      allAcked: true,
      async during({ senders, running }) {
        const second = refused("second", onDirectory(`directory = ${log}`), disk.env)
        await senders.many(100)
        const { status, stderr } = await second
        expect([status, stderr]).toEqual([74, expect.stringMatching(REFUSED)])
        expect(Number(readFileSync(join(log, "writer.pid"), "utf8"))).toBe(running.pid)
      },
    })
    expect(findings.lost).toBe(0)
  })

  test("is refused by a start and by a reload, which name it", async () => {
    const base = folder.make("alone")
    const log = folder.make("unlockable")
    const disk = orderedDisk(library!, `${log}.orders`, log)
    disk.ignoreLocks(true)
    const spool = onDirectory(`bootstrap_servers = 127.0.0.1:1\nspool = ${join(log, "spool.sqlite")}`)
    expect((await refused("spool", spool, disk.env)).stderr).toContain("grants a lock to a second process")

    await using running = await startHookline(onDirectory("directory = log"), { folder: base, env: disk.env })
    expect(await reload(running, base, onDirectory(`directory = ${log}`))).toBe("not")
    expect(running.log.map(({ msg }) => msg).filter((msg) => REFUSED.test(msg))).not.toEqual([])
    disk.ignoreLocks(false)
    expect(await reload(running, base, onDirectory(`directory = ${log}`))).toBe("reloaded")
  })
})
