import { expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, temporaryFolder } from "../support/hookline.ts"
import { startService } from "../support/webhook-service.ts"

test("a second process is told who writes to the log and what to do, and exits 69", async () => {
  using folder = temporaryFolder()
  const directory = join(folder.path, "log")
  const running = await startService({
    folder: folder.path,
    connection: `directory = ${directory}`,
    topic: "webhooks",
    deliveryTimeoutMs: 5000,
  })
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
