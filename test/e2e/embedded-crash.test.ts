import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbeddedReader } from "../../src/brokers/embedded-reader.ts"
import { openEmbedded } from "../../src/brokers/embedded.ts"
import { steadyMs } from "../../src/steady-clock.ts"

const PUBLISHER = Bun.fileURLToPath(import.meta.resolve("./embedded-publisher.ts"))
const KILLS = 20

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "hookline-crash-"))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Starts a publisher, kills it once it has printed so many acknowledgements, and returns all that it printed. */
async function publishUntilKilled(first: number, acknowledgements: number): Promise<number[]> {
  const child = Bun.spawn([process.execPath, PUBLISHER, directory, String(first)], {
    stdout: "pipe",
    stderr: "inherit",
  })
  const decoder = new TextDecoder()
  let printed = ""
  let lines = 0
  for await (const chunk of child.stdout) {
    printed += decoder.decode(chunk, { stream: true })
    lines += chunk.reduce((count, byte) => (byte === 10 ? count + 1 : count), 0)
    if (lines >= acknowledgements) child.kill("SIGKILL")
  }
  await child.exited
  expect(child.signalCode).toBe("SIGKILL")
  // The last line may be cut.
  return printed.split("\n").slice(0, -1).map(Number)
}

async function numbersInLog(): Promise<number[]> {
  const reader = openEmbeddedReader(directory)
  const numbers: number[] = []
  const { signal } = new AbortController()
  for await (const record of reader.read("numbers", { from: "beginning", follow: false, signal })) {
    expect(record.offset).toBe(numbers.length)
    numbers.push(Number.parseInt(Buffer.from(record.value.subarray(0, 20)).toString(), 10))
  }
  await reader.close()
  return numbers
}

test(`after each of ${KILLS} kills under load every acknowledged record is there, once, and offsets have no gaps`, async () => {
  const acknowledged: number[] = []
  let first = 0
  for (let kill = 0; kill < KILLS; kill++) {
    acknowledged.push(...(await publishUntilKilled(first, 1 + Math.floor(Math.random() * 1500))))
    const there = await numbersInLog()
    const once = new Set(there)
    expect(once.size).toBe(there.length)
    expect(acknowledged.filter((number) => !once.has(number))).toEqual([])
    first = Math.max(...there) + 1
  }
}, 30_000)

test("a killed writer's place is free at once, and the next one goes on with its offsets", async () => {
  const before = await numbersInLog()
  const broker = openEmbedded({ directory }, { log: pino({ level: "silent" }), metrics: { batch() {} } })
  const receipt = await broker.publish({ topic: "numbers", value: Buffer.from("-1") }, steadyMs() + 5000)
  expect(receipt).toEqual({ partition: 0, offset: before.length })
  await broker.close()
})

test("a second process is told who writes to the log and what to do", async () => {
  const child = Bun.spawn([process.execPath, PUBLISHER, directory, "0"], {
    stdout: "pipe",
    stderr: "inherit",
  })
  const output = child.stdout.getReader()
  await output.read()
  try {
    expect(() =>
      openEmbedded({ directory }, { log: pino({ level: "silent" }), metrics: { batch() {} } }),
    ).toThrow(
      expect.objectContaining({
        code: "log_locked",
        message: `The log in ${directory} is being written to by process ${child.pid}; stop that one, or name another directory`,
      }),
    )
  } finally {
    child.kill("SIGKILL")
    await child.exited
  }
})
