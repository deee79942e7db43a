import { expect, test } from "bun:test"
import { join } from "node:path"
import { temporaryFolder } from "../support/hookline.ts"
import { ON_LOG, startService } from "../support/webhook-service.ts"

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test("a test that fails leaves no Hookline behind", async () => {
  using folder = temporaryFolder()
  let pid = 0
  const failing = async (): Promise<void> => {
    await using running = await startService({ folder: folder.path, ...ON_LOG })
    pid = running.pid
    expect(runs(pid)).toBe(true)
    throw new Error("it fails")
  }
  await expect(failing()).rejects.toThrow("it fails")
  expect(runs(pid)).toBe(false)
})

test.skipIf(process.platform !== "linux")(
  "what a test process started ends with it, when it is killed too",
  async () => {
    using folder = temporaryFolder()
    const support = (name: string): string => JSON.stringify(join(import.meta.dir, "../support", name))
    const script = `
      import { ON_LOG, startService } from ${support("webhook-service.ts")}
      import { stopReader } from ${support("stopped-reader.ts")}
      const folder = process.argv.at(-1)
      const { pid } = await startService({ folder, ...ON_LOG })
      const reader = await stopReader(folder + "/log/log.sqlite")
      process.stdout.write(JSON.stringify([pid, reader.pid]))
      setInterval(() => {}, 1000)`
    const tests = Bun.spawn([process.execPath, "-e", script, "--", folder.path], {
      stdout: "pipe",
      stderr: "inherit",
    })
    const { value } = await tests.stdout.getReader().read()
    const started = JSON.parse(Buffer.from(value!).toString()) as number[]
    expect(started.map(runs)).toEqual([true, true])
    tests.kill("SIGKILL")
    await tests.exited
    while (started.some(runs)) await Bun.sleep(5)
  },
)
