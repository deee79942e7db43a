import { expect, test } from "bun:test"
import { diskUsed } from "./overview.ts"

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
