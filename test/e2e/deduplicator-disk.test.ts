import { afterAll, expect, test } from "bun:test"
import { join } from "node:path"
import { pino } from "pino"
import { SqliteKeys } from "../../src/dedupe/sqlite-keys.ts"
import type { KeyStore } from "../../src/dedupe/key-store.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { mountSmallDisk } from "../support/small-disk.ts"

const folder = temporaryFolder()
const path = join(folder.path, "disk")
const disk = mountSmallDisk(path, 2)
afterAll(() => {
  disk?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})

const soon = (): number => steadyMs() + 10_000
const untilMs = Date.now() + 3_600_000
const open = (recovered: () => void): KeyStore => {
  const lines = { write: (line: string) => void (line.includes("can be written again") && recovered()) }
  return new SqliteKeys(join(path, "store"), { log: pino({}, lines) })
}

test.skipIf(disk === undefined)(
  "a full disk claims nothing, and all keys are there when there is space again",
  async () => {
    const { promise: recovered, resolve } = Promise.withResolvers<void>()
    const store = open(resolve)
    disk!.fill(1024 * 1024)

    const keys: string[] = []
    const batch = (): Promise<boolean[]> => {
      const fresh = Array.from({ length: 100 }, () => crypto.randomUUID().slice(0, 22))
      keys.push(...fresh)
      return Promise.all(fresh.map((key) => store.add(key, untilMs, soon())))
    }
    let durable: boolean[]
    do durable = await batch()
    while (durable[0] === true)
    expect(new Set(durable)).toEqual(new Set([false]))
    expect(store.ready()).toBe(`the disk of ${join(path, "store")} is full`)
    expect(() => store.claim("new", soon())).toThrow(expect.objectContaining({ code: "unavailable" }))

    disk!.free()
    await recovered
    expect(store.ready()).toBe(true)
    await store.close()

    const again = open(() => {})
    const claims = await Promise.all(keys.map((key) => again.claim(key, soon())))
    expect(new Set(claims)).toEqual(new Set(["duplicate"]))
    expect(await again.claim("new", soon())).toBe("first")
    await again.close()
  },
)
