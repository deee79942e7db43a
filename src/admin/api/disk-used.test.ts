import type { StatsFs } from "node:fs"
import { expect, test } from "bun:test"
import { diskUsed } from "./disk-used.ts"

test("the share of a disk in use is one of 1, and that of a spool's limit where it is more", async () => {
  const share = await diskUsed("/")
  expect(share).toBeWithin(0, 1.001)
  expect(await diskUsed("/", { bytes: 1, maxBytes: 1 })).toBe(1)
})

test("a file system without blocks has no share, and what can't be read neither", async () => {
  expect(await diskUsed("/proc")).toBeNull()
  expect(await diskUsed("/proc", { bytes: 1, maxBytes: 4 })).toBe(process.platform === "linux" ? 0.25 : null)
  expect(await diskUsed("/there/is/no/such/folder")).toBeNull()
  expect(await diskUsed(undefined)).toBeNull()
})

test("a disk that does not answer has no share, and is not asked again before it has answered", async () => {
  const disk = Promise.withResolvers<StatsFs>()
  let asked = 0
  const ask = (() => {
    asked++
    return disk.promise
  }) as unknown as Parameters<typeof diskUsed>[2]
  const share = () => diskUsed("/a/dead/mount", undefined, ask)
  expect(await share()).toBeNull()
  expect(await share()).toBeNull()
  disk.resolve({ blocks: 4, bfree: 2, bavail: 2 } as StatsFs)
  expect(await share()).toBe(0.5)
  expect(asked).toBe(1)
})
