import { expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"

test("a second process is told who writes to the log and what to do, and exits 69", async () => {
  using folder = temporaryFolder()
  const directory = join(folder.path, "log")
  const running = await startHookline(
    `[connection:log]
directory = ${directory}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = off`,
    { folder: folder.path },
  )
  try {
    const { status, stderr } = await hookline(["run", "-c", join(folder.path, "pipelines.conf")])
    expect(status).toBe(69)
    expect(stderr).toContain(
      `The log in ${directory} is being written to by process ${running.pid}; stop that one, or name another directory`,
    )
  } finally {
    await running.stop()
  }
}, 30_000)
