import { beforeEach, expect, test } from "bun:test"
import { pino } from "pino"
import { BatchMemory } from "./batch-memory.ts"
import type { Metadata } from "./metadata.ts"
import { impairmentOf, Impairments } from "./impairment.ts"
import { ProducerId } from "./epoch-and-sequence.ts"
import { Topic } from "./topic.ts"

const [UNKNOWN_TOPIC, NOT_AUTHORIZED, NOT_ENOUGH_REPLICAS] = [3, 29, 19]
const NONE = -1
const DOWN = 9

let lines: { level: number; topic: string; msg: string }[]
let nowMs: number
beforeEach(() => {
  lines = []
  nowMs = 100_000
})

const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })

/** A topic whose partitions are led by these brokers. */
function topicLedBy(leaders: readonly number[], errorCode = 0, name = "t"): Topic {
  const metrics = { batch() {}, retried() {}, connected() {}, incident() {} }
  const topic = new Topic(name, {
    log,
    metrics,
    compression: "none",
    producerId: new ProducerId(log, metrics, () => {}),
    memory: new BatchMemory(),
  })
  follow(topic, leaders, errorCode)
  return topic
}

let epoch = 0
function follow(topic: Topic, leaders: readonly number[], errorCode = 0): void {
  epoch++
  const partitions = leaders.map((leaderId, partitionIndex) => {
    return { errorCode: 0, partitionIndex, leaderId, leaderEpoch: epoch } as never
  })
  const metadata = {
    errorCode,
    name: topic.name,
    topicId: "id",
    partitions,
  } as unknown as Metadata["topics"][number]
  // twice: a topic is missing when it has been for a moment
  for (const ms of [0, 1000])
    if (topic.update(metadata, nowMs + ms))
      topic.created({ problem: "auto.create.topics.enable is false", isFinal: true }, nowMs)
}

const unreachable = (leader: number): string | undefined =>
  leader === DOWN ? "connection refused" : undefined
const problemOf = (topic: Topic): [string, boolean] | undefined => {
  const found = impairmentOf(topic, unreachable, nowMs)
  return found && [found.problem, found.isWhole]
}
const refuse = (topic: Topic, ...partitions: number[]): void => {
  for (const at of [nowMs - 2000, nowMs])
    for (const index of partitions)
      topic.partitions[index]!.health.rejected("retry_records", NOT_ENOUGH_REPLICAS, at)
}

test.each([
  ["all are led", [1, 2, 1], undefined],
  ["one has no leader", [1, NONE, 1], ["topic t: partition 1 has no leader", false]],
  ["two have none", [NONE, 2, 2, NONE], ["topic t: partitions 0, 3 have no leader", false]],
  ["none has one", [NONE, NONE], ["topic t: all 2 partitions have no leader", true]],
  ["the only one has none", [NONE], ["topic t: partition 0 has no leader", true]],
  [
    "a leader can't be reached",
    [1, DOWN],
    ["topic t: partition 1 has a leader that can't be reached: connection refused", false],
  ],
  [
    "some have no leader, the others none that can be reached",
    [NONE, DOWN],
    [
      "topic t: partition 0 has no leader; partition 1 has a leader that can't be reached: connection refused",
      true,
    ],
  ],
  [
    "many have none",
    [1, ...Array<number>(12).fill(NONE)],
    ["topic t: partitions 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more have no leader", false],
  ],
] as const)("%s", (_, leaders, expected) => {
  expect(problemOf(topicLedBy(leaders))).toEqual(expected as [string, boolean] | undefined)
})

test("what the cluster does not have, or does not let be written to, can't be published to", () => {
  const missing = impairmentOf(topicLedBy([], UNKNOWN_TOPIC), unreachable, nowMs)
  expect(missing).toMatchObject({
    isWhole: true,
    isOutage: true,
    problem: expect.stringMatching(/^topic t does not exist/),
  })
  const refused = impairmentOf(topicLedBy([], NOT_AUTHORIZED), unreachable, nowMs)
  expect(refused).toMatchObject({ isWhole: true, problem: expect.stringContaining("not authorized") })
})

test("a partition that refuses is impaired; where nothing else is acknowledged since, the topic is", () => {
  const topic = topicLedBy([1, 1, 1])
  refuse(topic, 0, 2)
  const problem = "topic t: partitions 0, 2 have acknowledged nothing lately: error 19 (NOT_ENOUGH_REPLICAS)"
  expect(problemOf(topic)).toEqual([problem, true])
  topic.partitions[1]!.health.acknowledged(nowMs - 1000)
  expect(problemOf(topic)).toEqual([problem, false])
  expect(impairmentOf(topic, unreachable, nowMs)).toMatchObject({ isOutage: false, leaderless: 0 })
})

test("what lasts a second is reported, and logged once; what it becomes, and its end, too", () => {
  const topic = topicLedBy([NONE, 1])
  const impairments = new Impairments(log)
  const current = (): string[] => {
    impairments.update([], unreachable, () => true, nowMs)
    return impairments.lasting(nowMs).map(({ problem }) => problem)
  }
  impairments.update([topic], unreachable, () => true, nowMs)
  expect(impairments.lasting(nowMs)).toEqual([])
  nowMs += 1000
  expect(current()).toEqual(["topic t: partition 0 has no leader"])
  nowMs += 1000
  current()
  follow(topic, [NONE, NONE])
  expect(current()).toEqual(["topic t: all 2 partitions have no leader"])
  follow(topic, [1, 1])
  expect(current()).toEqual([])
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    [40, "topic partly unavailable"],
    [50, "topic unavailable"],
    [30, "topic available again"],
  ])
})

test("a moment without a leader is neither reported nor logged, nor is a topic that nobody uses any more", () => {
  const [topic, unused] = [topicLedBy([NONE]), topicLedBy([NONE], 0, "unused")]
  const impairments = new Impairments(log)
  impairments.update([topic, unused], unreachable, () => true, nowMs)
  follow(topic, [1])
  impairments.update([], unreachable, (it) => it !== unused, (nowMs += 2000))
  expect([impairments.lasting(nowMs), lines]).toEqual([[], []])
})

test("a thousand topics that go at once are ten lines and one more", () => {
  const topics = Array.from({ length: 1000 }, (_, n) => topicLedBy([NONE], 0, `t${n}`))
  const impairments = new Impairments(log)
  for (let round = 0; round < 3; round++) impairments.update(topics, unreachable, () => true, (nowMs += 1000))
  expect(lines).toHaveLength(11)
  expect(lines.at(-1)).toMatchObject({ topics: 990 })
  expect(impairments.lasting(nowMs)).toHaveLength(1000)
})
