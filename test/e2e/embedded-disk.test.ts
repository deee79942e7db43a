import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pino } from "pino"
import type { Broker } from "../../src/brokers/broker.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded-reader.ts"
import { openEmbedded } from "../../src/brokers/embedded.ts"
import type { Receipt } from "../../src/record.ts"
import { steadyMs } from "../../src/steady-clock.ts"

const MEBIBYTE = 1024 * 1024

const disk = mkdtempSync(join(tmpdir(), "hookline-disk-"))
const mount = (...args: string[]): boolean =>
  Bun.spawnSync(["mount", ...args, "hookline-test", disk], { stderr: "ignore" }).success
const mounted = process.platform === "linux" && mount("-t", "tmpfs", "-o", "size=8m")
if (!mounted)
  console.warn("SKIPPED: the full disk, the read-only disk: mounting a tmpfs is not permitted here")

let recovered: PromiseWithResolvers<void>
beforeAll(() => {
  recovered = Promise.withResolvers()
})
afterAll(() => {
  if (mounted) Bun.spawnSync(["umount", "-l", disk])
  rmSync(disk, { recursive: true })
})

function open(): Broker {
  const lines = {
    write: (line: string) => void (line.includes("can be written again") && recovered.resolve()),
  }
  return openEmbedded({ directory: join(disk, "log") }, { log: pino({}, lines), metrics: { batch() {} } })
}

const publish = (broker: Broker, value: Uint8Array): Promise<Receipt> =>
  broker.publish({ topic: "t", value }, steadyMs() + 10_000)

test.skipIf(!mounted)(
  "a full disk refuses whole batches, and the log heals when there is space again",
  async () => {
    const broker = open()
    await publish(broker, Buffer.from("before"))
    const ballast = join(disk, "ballast")
    writeFileSync(ballast, Buffer.alloc(5 * MEBIBYTE))

    const acknowledged: number[] = []
    const refusal = await (async () => {
      for (;;) {
        try {
          const batch = Array.from({ length: 4 }, () => publish(broker, Buffer.alloc(50_000, 1)))
          const settled = await Promise.allSettled(batch)
          const failed = settled.filter((one) => one.status === "rejected")
          if (failed.length > 0) {
            expect(failed).toHaveLength(4)
            return failed[0]!.reason as unknown
          }
          for (const one of settled) if (one.status === "fulfilled") acknowledged.push(one.value.offset)
        } catch (error) {
          return error
        }
      }
    })()
    expect(refusal).toMatchObject({
      code: "unavailable",
      message: `the disk of ${join(disk, "log")} is full`,
    })
    expect(broker.ready()).toBe(`the disk of ${join(disk, "log")} is full`)
    await expect(publish(broker, Buffer.from("x"))).rejects.toMatchObject({ code: "unavailable" })

    rmSync(ballast)
    await recovered.promise
    expect(broker.ready()).toBe(true)
    const after = await publish(broker, Buffer.from("after"))
    await broker.close()

    const reader = openEmbeddedReader(join(disk, "log"))
    const { signal } = new AbortController()
    const records = await Array.fromAsync(reader.read("t", { from: "beginning", follow: false, signal }))
    await reader.close()
    expect(records.map(({ offset }) => offset)).toEqual([0, ...acknowledged, after.offset])
    expect(after.offset).toBe(acknowledged.length + 1)
  },
)

test.skipIf(!mounted)("a disk that is read-only is said to be at the start", () => {
  expect(mount("-o", "remount,ro")).toBe(true)
  expect(open).toThrow(
    expect.objectContaining({ code: "log_io", message: expect.stringContaining("read-only") }),
  )
})
