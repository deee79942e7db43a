import { afterEach, beforeEach, expect, test } from "bun:test"
import { pino } from "pino"
import type { Broker, Impairment } from "../broker.ts"
import { SpoolWatch, type WatchedTopic } from "./progress-watch.ts"

const REPLICAS = "topic t: partition 0 has acknowledged nothing lately: error 19 (NOT_ENOUGH_REPLICAS)"

let nowMs: number
let ready: true | string
let told: Impairment[]
let held: Map<string, WatchedTopic> | undefined
let lines: { msg: string; topic: string; reason?: string }[]
let watch: SpoolWatch
beforeEach(() => {
  nowMs = 1e6
  ready = true
  told = []
  held = new Map([["t", { progress: 0, trouble: "there is no such topic" }]])
  lines = []
  const broker = { ready: () => ready, impaired: () => told } as Partial<Broker> as Broker
  watch = new SpoolWatch(
    {
      log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }),
      broker: () => broker,
      topics: () => held,
    },
    () => nowMs,
  )
  // the watch's own timer is not wanted
  watch.close()
})
afterEach(() => watch.close())

const setReady = (to: true | string): void => {
  ready = to
}
const pass = (ms: number): void => {
  for (const endMs = nowMs + ms; nowMs < endMs;) watch.tick((nowMs += 500))
}
const stuck = (): string[] => watch.impaired().map(({ topic }) => topic)
const impairment = (isOutage: boolean): Impairment => {
  return { topic: "t", problem: REPLICAS, isWhole: true, leaderless: 0, isOutage }
}

test("a topic whose events stay, while the broker is ready, is stuck after 5 s, reported once with the reason", () => {
  pass(5000)
  expect(stuck()).toEqual([])
  pass(500)
  expect(stuck()).toEqual(["t"])
  expect(watch.impaired()[0]).toMatchObject({ isWhole: true, isOutage: false })
  pass(10_000)
  expect(lines).toMatchObject([{ topic: "t", reason: "there is no such topic" }])
  held = new Map([["t", { progress: 1, trouble: undefined }]])
  pass(500)
  expect(stuck()).toEqual([])
  expect(lines).toHaveLength(2)
  expect(lines[1]!.msg).toBe("spool is forwarding the topic's events again")
})

test("each record that goes starts the time anew; a topic that has no more is not stuck", () => {
  for (let progress = 0; progress < 10; progress++) {
    held = new Map([["t", { progress, trouble: undefined }]])
    pass(4000)
    expect(stuck()).toEqual([])
  }
  pass(5000)
  expect(stuck()).toEqual(["t"])
  held = new Map()
  pass(500)
  expect(stuck()).toEqual([])
})

test.each([
  ["is not there", () => setReady("it is down"), () => setReady(true)],
  ["says that the topic does not exist", () => told.push(impairment(true)), () => void told.pop()],
])("while the broker %s, events wait as they should", (_, begin: () => void, end: () => void) => {
  begin()
  pass(60_000)
  expect(stuck()).toEqual([])
  end()
  pass(4500)
  expect(stuck()).toEqual([])
  pass(1000)
  expect(stuck()).toEqual(["t"])
  begin()
  pass(500)
  expect(stuck()).toEqual([])
})

test("what the broker knows of its refusals is the reason", () => {
  told.push(impairment(false))
  pass(6000)
  expect(watch.impaired()[0]!.problem).toContain(REPLICAS)
})

test("time in which this process did not run does not count, nor that in which the file can't be read", () => {
  pass(1000)
  watch.tick((nowMs += 3_600_000))
  expect(stuck()).toEqual([])
  held = undefined
  pass(60_000)
  expect(stuck()).toEqual([])
})
