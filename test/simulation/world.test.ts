import { expect, test } from "bun:test"
import { join } from "node:path"

/** A world with timers, randomness, a stall, a clock that is set and a process that is killed. */
const PROGRAM = `
  import "./simulated-globals.ts"
  import { World } from "./world.ts"
  const { pause } = await import("../../src/clock/clock.ts")
  const run = (seed) => {
    const world = new World(seed)
    const one = world.process("one")
    const other = world.process("other")
    for (const process of [one, other])
      process.run(async () => {
        for (;;) {
          await pause(Math.random() * 100, new AbortController().signal)
          world.tell(process.name, Date.now() + " " + performance.now() + " " + crypto.randomUUID())
        }
      })
    world.after(300, () => one.stall(250.0004))
    world.after(600, () => (one.clocks.offsetMs = -3_600_000))
    world.after(700, () => other.kill())
    world.runUntil(1000)
    return [world.hash(), world.history()]
  }
  console.log(JSON.stringify([run(1), run(1), run(2)]))
`

async function runs(): Promise<[hash: string, history: string][]> {
  const child = Bun.spawn([process.execPath, "-e", PROGRAM], { cwd: join(import.meta.dir), stdout: "pipe" })
  return JSON.parse(await child.stdout.text()) as [string, string][]
}

test("a seed has the same history each time, in every process; another seed another", async () => {
  const [one, again, other] = await runs()
  const [elsewhere] = await runs()
  expect(again).toEqual(one!)
  expect(elsewhere).toEqual(one!)
  expect(other![0]).not.toBe(one![0])
})

test("nothing of a process happens while it stalls, or once it was killed; its clock is its own", async () => {
  const [[, history]] = (await runs()) as [[string, string]]
  const of = (name: string): number[][] =>
    history.split("\n").flatMap((line) => {
      const [, at, who, dayMs] = /^ *([\d.]+) +(\S+) +(\d+) /.exec(line) ?? []
      return who === name ? [[Number(at), Number(dayMs)]] : []
    })
  const stalled = of("one").filter(([at]) => at! > 300 && at! < 550)
  expect(stalled).toEqual([])
  expect(of("one").some(([at]) => at === 550)).toBe(true)
  expect(of("one").at(-1)![1]).toBeLessThan(Date.UTC(2024, 11, 31, 23, 1))
  expect(of("other").at(-1)![0]).toBeLessThan(700)
})
