import { expect, test } from "bun:test"
import type { Broker, Impairment } from "../brokers/broker.ts"
import { connectionStates, readinessOf } from "./readiness.ts"
import type { Plan } from "./plan/plan.ts"
import type { ActivePlan } from "./reload.ts"

/** A plan whose pipelines publish to these topics, on the connections named before a slash, or else on the first. */
function planOf(connections: readonly string[], topics: readonly string[]): Plan {
  const pipelines = topics.map((it) => {
    const [topic, connection] = it.split("/").toReversed()
    return { sink: { values: { topic, connection } } }
  })
  return { connections: new Map(connections.map((id) => [id, {}])), pipelines } as unknown as Plan
}

const broker = (ready: true | string, impaired?: readonly Impairment[]): { broker: Broker } => {
  return { broker: { ready: () => ready, impaired: impaired && (() => impaired) } as Broker }
}
const whole = (topic: string): Impairment => {
  return { topic, problem: `topic ${topic} is gone`, isWhole: true, leaderless: 1, isOutage: true }
}
const half = (topic: string): Impairment => ({ ...whole(topic), isWhole: false })

test.each([
  ["no topic is impaired", ["a", "b"], [], undefined],
  ["one of two can't be published to", ["a", "b"], [whole("a")], undefined],
  ["one can't be, the other in part only", ["a", "b"], [whole("a"), half("b")], undefined],
  ["none can be", ["a", "b"], [whole("a"), whole("b")], "topic a is gone; topic b is gone"],
  ["several pipelines publish to the one", ["a", "a"], [whole("a")], "topic a is gone"],
  ["a dead letter topic works, and no other", ["a"], [whole("a")], "topic a is gone"],
  ["a dead letter topic alone is gone", ["a"], [whole("letters")], undefined],
  ["the pipelines publish elsewhere", ["log/a"], [whole("a")], undefined],
  [
    "none of many can be",
    ["a", "b", "c", "d", "e"],
    ["a", "b", "c", "d", "e"].map(whole),
    "topic a is gone; topic b is gone; topic c is gone; and 2 more topics",
  ],
])("%s", (_, topics, impaired, problem) => {
  const { connections, impaired: known } = connectionStates(
    new Map([["kafka", broker(true, impaired)]]),
    planOf(["kafka", "log"], topics),
    () => undefined,
  )
  expect(connections).toEqual([["kafka", problem]])
  expect(known).toEqual([["kafka", impaired]])
})

test("a connection that is not ready says why, and nothing of topics; a broker that knows of no topics is its own", () => {
  const open = new Map([
    ["kafka", broker("it is down", [whole("a")])],
    ["log", broker(true)],
  ])
  expect(connectionStates(open, planOf(["kafka", "log"], ["a", "log/b"]), () => undefined)).toEqual({
    connections: [
      ["kafka", "it is down"],
      ["log", undefined],
    ],
    impaired: [["kafka", []]],
  })
})

test.each([
  [["addresses are not known yet", undefined], "partly ready"],
  [["addresses are not known yet"], "not ready"],
  [[undefined], "ready"],
])("with sources whose problems are %j it is %s, and they are named", (problems, expected) => {
  const pipelines = new Map(
    problems.map((problem, i) => [
      `p${i}`,
      { uses: [], stores: new Map(), route: { problem: () => problem } },
    ]),
  )
  const active = {
    plan: { connections: new Map(), pipelines: [] },
    connections: new Map(),
    pipelines,
    servers: { isAccepting: () => true },
  } as unknown as ActivePlan
  const { state, pipelines: closed } = readinessOf(active, false)
  expect(state).toBe(expected as typeof state)
  expect(closed).toEqual(expected === "ready" ? [] : [["p0", "source: addresses are not known yet"]])
})
