import { afterAll, expect, test } from "bun:test"
import { join } from "node:path"
import { Database } from "bun:sqlite"
import { pino } from "pino"
import { packBatch } from "../../src/brokers/embedded/batch.ts"
import { LogDatabase } from "../../src/brokers/embedded/log-database.ts"
import { logIn } from "../../src/storage/database-file.ts"
import { openEmbedded } from "../../src/brokers/embedded/broker.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { mountSmallDisk } from "../support/small-disk.ts"

const folder = temporaryFolder()
const disk = mountSmallDisk(join(folder.path, "disk"))
const full = disk && mountSmallDisk(join(folder.path, "full"), 32)
const held = disk && mountSmallDisk(join(folder.path, "held"), 64)
afterAll(() => {
  held?.[Symbol.dispose]()
  full?.[Symbol.dispose]()
  disk?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})

test.skipIf(disk === undefined)("a disk that is read-only is said to be at the start", async () => {
  const open = () =>
    openEmbedded(
      { directory: join(disk!.path, "log") },
      { log: pino({ level: "silent" }), metrics: { batch() {} } },
    )
  await open().close()
  disk!.makeReadOnly()
  expect(open).toThrow(
    expect.objectContaining({ code: "log_io", message: expect.stringContaining("read-only") }),
  )
})

test.skipIf(held === undefined)(
  "on a full disk retention writes nothing while a reader keeps the WAL, and goes on behind it",
  () => {
    const location = logIn(held!.path)
    const nowMs = Date.now()
    const batch = packBatch(
      Array.from({ length: 500 }, () => ({ record: { topic: "t", value: Buffer.alloc(4096, "x") } })),
    )
    const before = new LogDatabase(location)
    for (let n = 0; n < 8; n++) before.commit(batch, nowMs)
    before.close()
    held!.fill(300 * 1024)
    const writer = new LogDatabase(location)
    const limits = { ms: Number.POSITIVE_INFINITY, bytes: 14 * 1024 ** 2 }
    // the WAL has something for a reader to hold
    expect(writer.trim(limits)).toBeDefined()
    const reader = new Database(location.file, { readonly: true })
    writer.commit(packBatch([{ record: { topic: "t", value: Buffer.from("x") } }]), nowMs)
    reader.run("BEGIN")
    reader.query("SELECT * FROM topics").all()
    for (let n = 0; n < 20; n++) expect(writer.trim(limits)).toBeUndefined()
    // a failure now is no reason to take the file alone, for which every reader would have to end
    expect(writer.isSynced).toBe(true)
    reader.run("COMMIT")
    while (writer.trimmer.isDue(limits)) {
      reader.query("SELECT * FROM topics").all()
      writer.trim(limits)
    }
    reader.close()
    writer.close()
  },
)
