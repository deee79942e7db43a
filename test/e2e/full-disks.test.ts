import { expect, test } from "bun:test"
import { join } from "node:path"
import { runToEnd } from "../support/child.ts"
import { hookline, startHookline, folderOfTests, sharedByTests } from "../support/hookline.ts"
import { reloadConf, statusOf } from "../support/reloaded.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { PROGRAM } from "../support/program.ts"

const root = folderOfTests()
const folder = root.make("log")
const running = sharedByTests(async () => {
  const started = await startHookline(reloadConf(), { folder })
  const body = JSON.stringify({ text: "x".repeat(700_000) })
  for (let n = 0; n < 4; n++) expect(await statusOf(started.urls["webhooks"], body)).toBe(200)
  return started
})
const configuration = join(folder, "pipelines.conf")

test.each([["--begin beginning"], ["--begin beginning --follow"]])(
  "tail %s to a full disk ends with one sentence",
  async (flags) => {
    expect(running.pid).toBeGreaterThan(0)
    const command = `configuration=$0; exec "$@" tail ${flags} -c "$configuration" first > /dev/full`
    const ended = await runToEnd(["sh", "-c", command, configuration, ...PROGRAM])
    expect([ended.status, ended.stderr]).toEqual([
      74,
      "standard output can't be written: no space is left on its disk\n",
    ])
  },
)

test.each([
  ["space", 1, 0, "its disk is full"],
  ["inodes", 64, 3, "its file system has no inodes left, which each file takes one of"],
])("a backup onto a disk without %s ends with one sentence", async (name, mebibytes, inodes, why) => {
  const at = join(folder, name)
  using disk = mountSmallDisk(at, mebibytes, inodes)
  if (disk === undefined) return
  const target = join(at, "backup")
  const ended = await hookline(["log", "backup", target, "-c", configuration])
  expect([ended.status, ended.stderr.split("\n")[0]]).toEqual([
    74,
    `${target} is not complete: ${why}; delete it, and name a folder where there is space`,
  ])
  // the service is not affected
  expect(await statusOf(running.urls["webhooks"])).toBe(200)
})

test("a start on a disk without inodes ends with one sentence", async () => {
  const own = root.make("start")
  using disk = mountSmallDisk(join(own, "disk"), 64, 2)
  if (disk === undefined) return
  const file = join(own, "pipelines.conf")
  await Bun.write(file, reloadConf({ directory: "disk/log" }))
  const { status, stderr } = await hookline(["run", "-c", file])
  expect(status).toBe(74)
  expect(stderr).toContain("its file system has no inodes left, which each file takes one of")
})
