import { expect, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { reload, startHookline, folderOfTests } from "../support/hookline.ts"
import { published, reloadConf, statusOf } from "../support/reloaded.ts"

const root = folderOfTests()
const folderOf = (name: string): string => root.make(name)

test("--watch reloads when the file is renamed over, when a secret changes, and when a symbolic link on the way turns", async () => {
  const folder = folderOf("watch")
  // as Kubernetes mounts a ConfigMap: file -> ..data/file, ..data -> ..1
  const version = (name: string, topic: string): void => {
    mkdirSync(join(folder, name))
    writeConf(join(folder, name, "pipelines.conf"), topic)
  }
  const writeConf = (file: string, topic: string): void =>
    writeFileSync(
      file,
      reloadConf({
        topic,
        more: "[pipeline:webhooks:Verifier]\nprovider = token\nheader = X-Token\nsecret = ${file:secret}",
      }),
    )
  await Bun.write(join(folder, "secret"), "obviously-fake-1\n")
  version("..1", "first")
  symlinkSync("..1", join(folder, "..data"))
  await using running = await startHookline(readFileSync(join(folder, "..1/pipelines.conf"), "utf8"), {
    folder,
    args: ["--watch"],
  })
  const reloads = (count: number): Promise<unknown> =>
    running.logged(() => running.log.filter(({ msg }) => msg === "reloaded").length >= count)
  const send = async (token: string): Promise<number> =>
    (await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}", headers: { "X-Token": token } }))
      .status
  try {
    // an editor's way to save
    writeConf(join(folder, "new"), "second")
    renameSync(join(folder, "new"), join(folder, "pipelines.conf"))
    await reloads(1)
    expect(await send("obviously-fake-1")).toBe(200)

    // the file becomes one of a mounted volume
    symlinkSync("..data/pipelines.conf", join(folder, "link"))
    version("..2", "third")
    symlinkSync("..2", join(folder, "..data_tmp"))
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    renameSync(join(folder, "link"), join(folder, "pipelines.conf"))
    await reloads(2)
    expect(await send("obviously-fake-1")).toBe(200)

    version("..3", "fourth")
    symlinkSync("..3", join(folder, "..data_tmp"))
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    rmSync(join(folder, "..2"), { recursive: true })
    await reloads(3)
    expect(await send("obviously-fake-1")).toBe(200)

    await Bun.write(join(folder, "secret"), "obviously-fake-2\n")
    await reloads(4)
    expect(await send("obviously-fake-2")).toBe(200)
    expect(await send("obviously-fake-1")).toBe(401)

    // a missing file is logged and changes nothing; when it is back, it is read
    rmSync(join(folder, "secret"))
    await running.logged(({ msg }) => msg.startsWith("reload failed"))
    expect(await send("obviously-fake-2")).toBe(200)
    await Bun.write(join(folder, "secret"), "obviously-fake-3\n")
    await reloads(5)
    expect(await send("obviously-fake-3")).toBe(200)
  } finally {
    expect(await running.stop()).toBe(0)
  }
  expect(running.output()).not.toContain("obviously-fake")
  expect(await published(folder, "second")).toBe(1)
  expect(await published(folder, "third")).toBe(1)
  expect(await published(folder, "fourth")).toBe(4)
})

test.skipIf(process.platform !== "linux")(
  "a hundred reloads leave no descriptor behind and no memory",
  async () => {
    const folder = folderOf("hundred")
    const more = `[connection:second]\ndirectory = second
[pipeline:more:WebHookSource]\nhost = 127.0.0.1\nport = 0\npath = /more
[pipeline:more:BrokerSink]\ntopic = more\nconnection = second`
    await using running = await startHookline(reloadConf(), { folder })
    const twice = async (n: number): Promise<void> => {
      expect(await reload(running, folder, reloadConf({ topic: `t${n % 3}`, more }))).toBe("reloaded")
      expect(await reload(running, folder, reloadConf({ topic: `t${n % 3}` }))).toBe("reloaded")
    }
    const descriptors = (): number => readdirSync(`/proc/${running.pid}/fd`).length
    const residentMiB = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${running.pid}/status`, "utf8"))![1]) / 1024
    try {
      // the first of them load what is loaded once
      for (let n = 0; n < 10; n++) await twice(n)
      const [before, beforeMiB] = [descriptors(), residentMiB()]
      for (let n = 0; n < 50; n++) await twice(n)
      expect(await statusOf(running.urls["webhooks"])).toBe(200)
      const afterMiB = residentMiB()
      console.log(`100 reloads: ${beforeMiB.toFixed()} MiB before, ${afterMiB.toFixed()} MiB after`)
      // a connection of this test's own is one; the last log that went may still be closing, which nothing reports
      while (descriptors() > before + 2) await Bun.sleep(20)
      expect(afterMiB).toBeLessThan(beforeMiB + 30)
    } finally {
      await running.stop()
    }
  },
)
