import { expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"

setDefaultTimeout(300_000)

const CONFIGURATION = `
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
[pipeline:hooks:Deduplicator]
key = json:/id
[pipeline:hooks:BrokerSink]
topic = hooks
`

const send = async ({ urls }: RunningHookline, id: string): Promise<number> =>
  (await fetch(urls["hooks"]!, { method: "POST", body: JSON.stringify({ id }) })).status

const idsInLog = async (directory: string): Promise<string[]> =>
  (await valuesInLog(directory, "hooks")).map((value) => (JSON.parse(value) as { id: string }).id)

const SUFFIXES = ["", "-wal", "-shm"]

test.each<[string, (file: string) => void, RegExp]>([
  [
    "is deleted",
    (file) => SUFFIXES.forEach((suffix) => rmSync(file + suffix, { force: true })),
    /was removed or renamed/,
  ],
  [
    "is exchanged for an earlier copy",
    (file) => {
      SUFFIXES.forEach((suffix) => rmSync(file + suffix, { force: true }))
      renameSync(`${file}.copy`, file)
    },
    /was removed or renamed|is another file/,
  ],
  [
    "has an earlier copy written over it",
    (file) => {
      writeFileSync(`${file}-wal`, "")
      writeFileSync(file, readFileSync(`${file}.copy`))
    },
    /was truncated|was changed by another program/,
  ],
])(
  "while the log %s, an event that is sent again is refused, and taken after a restart",
  async (_, replace, says) => {
    using folder = temporaryFolder()
    const file = join(folder.path, "log/log.sqlite")
    {
      await using service = await startHookline(CONFIGURATION, { folder: folder.path })
      expect(await send(service, "first")).toBe(200)
    }
    cpSync(file, `${file}.copy`)
    {
      await using service = await startHookline(CONFIGURATION, { folder: folder.path })
      for (const id of ["a", "b"]) expect(await send(service, id)).toBe(200)
      replace(file)
      await service.logged(({ level, msg }) => level === "error" && says.test(msg))
      // its records may be gone
      for (const id of ["a", "b"]) expect(await send(service, id)).toBe(503)
    }
    await using service = await startHookline(CONFIGURATION, { folder: folder.path })
    for (const id of ["first", "a", "b"]) expect(await send(service, id)).toBe(200)
    await service.stop()
    const values = await valuesInLog(join(folder.path, "log"), "hooks")
    expect(values.map((value) => (JSON.parse(value) as { id: string }).id)).toEqual(["first", "a", "b"])
  },
)

test("events that are sent again are duplicates once the file that was moved away is back", async () => {
  using folder = temporaryFolder()
  const directory = join(folder.path, "log")
  await using service = await startHookline(CONFIGURATION, { folder: folder.path })
  expect(await send(service, "a")).toBe(200)
  const away = join(folder.path, "away")
  mkdirSync(away)
  renameSync(join(directory, "log.sqlite"), join(away, "log.sqlite"))
  await service.logged(({ msg }) => /was removed or renamed/.test(msg))
  expect(await send(service, "a")).toBe(503)
  renameSync(join(away, "log.sqlite"), join(directory, "log.sqlite"))
  await service.logged(({ msg }) => msg.endsWith("can be written again"))
  for (const id of ["a", "b"]) expect(await send(service, id)).toBe(200)
  await service.stop()
  expect(await idsInLog(directory)).toEqual(["a", "b"])
})
