import { expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, reload, startHookline, temporaryFolder } from "../support/hookline.ts"
import { mountHungFiles } from "../support/hung-files.ts"
import { reloadConf, statusOf } from "../support/reloaded.ts"

test.each([
  ["${file:}", reloadConf({ source: "response_body = ${file:hung/input}" })],
  ["an included file", `include = hung/input\n${reloadConf()}`],
  ["a folder of included files", `include = hung/*.conf\n${reloadConf()}`],
  ["a schema", reloadConf({ more: "[pipeline:webhooks:Validator]\nschema = hung/input" })],
])(
  "a reload that refers to a file on a file system that hangs is refused after some seconds, events are taken meanwhile, and SIGTERM ends the service: %s",
  async (_, text) => {
    using folder = temporaryFolder()
    await using hung = await mountHungFiles(join(folder.path, "hung"))
    if (hung === undefined) return
    // alone: who waits for a file that another waits for can't be ended
    await Bun.write(join(folder.path, "pipelines.conf"), text)
    const checked = await hookline(["check", "-c", join(folder.path, "pipelines.conf")])
    expect([checked.status, checked.stderr]).toEqual([
      66,
      expect.stringContaining("has not answered for 5 s"),
    ])
    await using running = await startHookline(reloadConf(), { folder: folder.path })
    const url = running.urls["webhooks"]!
    const reloading = reload(running, folder.path, text)
    let answered = 0
    const posting = (async () => {
      do {
        expect(await statusOf(url)).toBe(200)
        answered++
      } while ((await Promise.race([reloading, Bun.sleep(50)])) === undefined)
    })()
    expect(await reloading).toBe("not")
    await posting
    // it waited for seconds, and took events all the time
    expect(answered).toBeGreaterThan(20)
    const said = running.log.map(({ msg }) => msg).filter((it) => it.includes("has not answered for 5 s"))
    expect(said).toEqual([expect.stringContaining(join(folder.path, "hung"))])
    // in the middle of the next one
    const before = running.log.length
    running.signal("SIGHUP")
    await running.logged((line) => line.msg === "reloading" && running.log.indexOf(line) >= before)
    expect(await running.stop()).toBe(0)
  },
)
