import { describe, expect, test } from "bun:test"
import { pino } from "pino"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { hasRedis, startRedis } from "../../../test/support/redis.ts"
import { FileStore } from "./file-store.ts"
import { RedisStore } from "./redis-store.ts"
import type { ServiceStore } from "./service-store.ts"

const log = pino({ level: "silent" })

type Opening = () => ServiceStore | Promise<ServiceStore>

/** Every store keeps texts over a restart. @param open another process's */
async function keeps(open: Opening): Promise<void> {
  const store = await open()
  try {
    expect(await store.read("told")).toEqual(new Map())
    await store.write("told", "connection_down:kafka", "1")
    await store.write("told", "connection_down:kafka", "2")
    await store.write("told", "silent:orders", "3")
    await store.write("muted", "silent:orders", "4")
    await store.write("told", "silent:orders", undefined)
    expect(await store.read("told")).toEqual(new Map([["connection_down:kafka", "2"]]))
  } finally {
    await store.close()
  }
  const later = await open()
  try {
    expect(await later.read("told")).toEqual(new Map([["connection_down:kafka", "2"]]))
    expect(await later.read("muted")).toEqual(new Map([["silent:orders", "4"]]))
  } finally {
    await later.close()
  }
}

/** One of two processes holds what both want, and the other one does after it. */
async function isHeldByOne(open: Opening): Promise<void> {
  const [first, second] = [await open(), await open()]
  const signal = await first.hold("notify")
  expect(signal?.aborted).toBe(false)
  expect(await second.hold("notify")).toBeUndefined()
  await first.close()
  expect((await second.hold("notify"))?.aborted).toBe(false)
  await second.close()
}

describe("in a file", () => {
  test("texts are kept over restarts", async () => {
    using folder = temporaryFolder()
    await keeps(() => new FileStore(folder.path, log))
  })

  test("one process at a time has it, and holds everything", async () => {
    using folder = temporaryFolder()
    await isHeldByOne(() => new FileStore(folder.path, log))
  })

  test("nothing is created by reading", async () => {
    using folder = temporaryFolder()
    const store = new FileStore(`${folder.path}/.hookline`, log)
    expect(await store.read("told")).toEqual(new Map())
    await store.close()
    expect(await Array.fromAsync(new Bun.Glob("**/*").scan({ cwd: folder.path, dot: true }))).toEqual([])
  })
})

describe.skipIf(!hasRedis())("in Redis", () => {
  const opening = (url: string) => async (): Promise<ServiceStore> => {
    const store = new RedisStore(crypto.randomUUID(), { url, name: "Redis", ca: undefined })
    // until it is connected
    while ((await store.read("told").catch(() => undefined)) === undefined) await Bun.sleep(20)
    return store
  }

  test("texts are kept, for all processes", async () => {
    await using redis = await startRedis()
    await keeps(opening(redis.url))
  })

  test("one of several processes holds a name", async () => {
    await using redis = await startRedis()
    await isHeldByOne(opening(redis.url))
  })
})
