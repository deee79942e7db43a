import { afterAll, expect, test } from "bun:test"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbedded } from "../../src/brokers/embedded.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { mountSmallDisk } from "../support/small-disk.ts"

const folder = temporaryFolder()
const disk = mountSmallDisk(join(folder.path, "disk"))
afterAll(() => {
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
