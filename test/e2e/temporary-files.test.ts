import { afterAll, expect, test } from "bun:test"
import { join } from "node:path"
import { Application } from "../../src/index.ts"
import { reload, startHookline, temporaryFolder } from "../support/hookline.ts"
import { statusOf } from "../support/reloaded.ts"
import { mountSmallDisk } from "../support/small-disk.ts"

const folder = temporaryFolder()
const disk = mountSmallDisk(join(folder.path, "disk"), 1)
disk?.fill(0)
afterAll(() => {
  disk?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})
/** SQLite takes the first that is set, else /var/tmp. */
const env = { SQLITE_TMPDIR: disk?.path ?? "", TMPDIR: disk?.path ?? "" }

const conf = (partitions: number): string => `[connection:log]
directory = log
partitions = ${partitions}
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:Deduplicator]
key = json:/n
[pipeline:webhooks:BrokerSink]
topic = webhooks
connection = log
`

test.skipIf(disk === undefined)(
  "partitions are added to a log while the disk of temporary files is full",
  async () => {
    const home = folder.make("log")
    let posted = 0
    const post = async (url: string): Promise<void> => {
      for (let n = 0; n < 100; n++) expect(await statusOf(url, `{"n":${posted++}}`)).toBe(200)
    }
    {
      await using running = await startHookline(conf(1), { folder: home, env })
      await post(running.urls["webhooks"]!)
      expect(await reload(running, home, conf(64))).toBe("reloaded")
      await post(running.urls["webhooks"]!)
    }
    await using running = await startHookline(conf(100), { folder: home, env })
    await post(running.urls["webhooks"]!)
    expect(running.output()).not.toContain("full")
    const app = Application.fromFile(join(home, "pipelines.conf"))
    expect(await Array.fromAsync(app.read("log", "webhooks"))).toHaveLength(posted)
  },
)
