import { expect, test } from "bun:test"
import { statSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbedded } from "../../src/brokers/embedded/broker.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { cases } from "../support/cases.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { HANG_MS } from "../support/hang.ts"

const MEBIBYTE = 1024 * 1024
const brokers = (name: string): string => JSON.stringify(join(import.meta.dir, "../../src/brokers", name))
const READING = `
  import { openEmbeddedReader } from ${brokers("embedded/reader.ts")}
  import { readTopic } from ${brokers("read-topic.ts")}
  const { signal } = new AbortController()
  const reader = openEmbeddedReader(process.argv.at(-1))
  for (let round = 0; ; round++) {
    for await (const record of readTopic(reader, "t", { from: "beginning", follow: false, signal })) void record
    if (round === 0) process.stdout.write("reading")
  }
`

test("the WAL stays small while several processes read the log without a pause", async () => {
  using folder = temporaryFolder()
  const broker = openEmbedded(
    { directory: folder.path, retention_bytes: 32 * MEBIBYTE },
    { log: pino({ level: "silent" }), metrics: { batch() {} } },
  )
  const value = Buffer.alloc(64 * 1024, "x")
  const publish = (): Promise<unknown> => broker.publish({ topic: "t", value }, steadyMs() + HANG_MS)
  await publish()
  const readers = Array.from({ length: cases(4, 2) }, () =>
    Bun.spawn([process.execPath, "-e", READING, "--", folder.path], { stdout: "pipe", stderr: "inherit" }),
  )
  let largest = 0
  try {
    await Promise.all(readers.map(({ stdout }) => stdout.getReader().read()))
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        for (let n = 0; n < 40; n++) {
          await publish()
          largest = Math.max(largest, statSync(join(folder.path, "log.sqlite-wal")).size)
        }
      }),
    )
  } finally {
    for (const reader of readers) {
      reader.kill("SIGKILL")
      await reader.exited
    }
    await broker.close()
  }
  expect(largest).toBeLessThan(128 * MEBIBYTE)
})
