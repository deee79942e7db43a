import { beforeEach, describe, expect, test } from "bun:test"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { Group } from "./group.ts"
import type { Joined, Joining, Synced } from "./member.ts"

const SESSION_MS = 10_000
const REBALANCE_MS = 60_000

let nowMs: number
let changes: number
let group: Group
beforeEach(() => {
  nowMs = 1000
  changes = 0
  group = new Group("g", () => void changes++)
})

const joining = (given: Partial<Joining> = {}): Joining => ({
  memberId: "",
  instanceId: null,
  clientId: "c",
  clientHost: "/127.0.0.1",
  sessionTimeoutMs: SESSION_MS,
  rebalanceTimeoutMs: REBALANCE_MS,
  protocolType: "consumer",
  protocols: [{ name: "range", metadata: Buffer.from("m") }],
  needsId: false,
  ...given,
})

/** Answers so far of a member that joins. */
function join(given: Partial<Joining> = {}): Joined[] {
  const answers: Joined[] = []
  group.join(joining(given), nowMs, (joined) => answers.push(joined))
  return answers
}

function sync(
  memberId: string,
  generation: number,
  assigned: { [member: string]: string } = {},
  instanceId: string | null = null,
): Synced[] {
  const answers: Synced[] = []
  const assignments = Object.entries(assigned).map(([memberId, assignment]) => ({
    memberId,
    assignment: Buffer.from(assignment),
  }))
  group.sync(memberId, instanceId, generation, assignments, nowMs, (synced) => answers.push(synced))
  return answers
}

const heartbeat = (memberId: string, generation = group.generation): number =>
  group.heartbeat(memberId, null, generation, nowMs)

/** A stable group of two; the first leads. */
function two(): [string, string] {
  const first = join()[0]!.memberId
  const second = join()
  const [again] = [join({ memberId: first })]
  expect(again[0]).toMatchObject({ errorCode: 0, generation: 2, leader: first })
  const { memberId } = second[0]!
  const waiting = sync(memberId, 2)
  expect(waiting).toEqual([])
  expect(sync(first, 2, { [first]: "a", [memberId]: "b" })).toEqual([
    { errorCode: 0, assignment: new Uint8Array(Buffer.from("a")) },
  ])
  expect(String(Buffer.from(waiting[0]!.assignment!))).toBe("b")
  expect(group.state).toBe("Stable")
  return [first, memberId]
}

test("one member leads, and gets what it assigns to itself", () => {
  const [joined] = join()
  expect(joined).toMatchObject({ errorCode: 0, generation: 1, protocol: "range", protocolType: "consumer" })
  expect(joined!.leader).toBe(joined!.memberId)
  expect(joined!.members).toHaveLength(1)
  expect(group.state).toBe("CompletingRebalance")
  const [synced] = sync(joined!.memberId, 1, { [joined!.memberId]: "all" })
  expect(String(Buffer.from(synced!.assignment!))).toBe("all")
  expect(heartbeat(joined!.memberId)).toBe(ERROR.NONE)
})

test("a new member has the others join again", () => {
  const first = join()[0]!.memberId
  sync(first, 1, { [first]: "all" })
  const second = join()
  expect(second).toEqual([])
  expect(heartbeat(first)).toBe(ERROR.REBALANCE_IN_PROGRESS)
  const again = join({ memberId: first })
  expect(again[0]?.members).toHaveLength(2)
  expect(second[0]).toMatchObject({ generation: 2, leader: first, members: [] })
})

test("a member that does not join again in time is left out", () => {
  const [first] = two()
  const third = join()
  join({ memberId: first })
  nowMs += SESSION_MS / 2
  group.tick(nowMs)
  expect(third).toEqual([])
  nowMs += SESSION_MS
  group.tick(nowMs)
  expect(third[0]).toMatchObject({ errorCode: 0, generation: 3, leader: first })
  expect(group.members.size).toBe(2)
})

test("a member that is not heard of is removed, and the others share its part", () => {
  const [first, second] = two()
  nowMs += SESSION_MS - 1
  expect(heartbeat(first)).toBe(ERROR.NONE)
  group.tick(nowMs)
  expect(group.members.size).toBe(2)
  nowMs += 1
  group.tick(nowMs)
  expect([...group.members.keys()]).toEqual([first])
  expect(heartbeat(first)).toBe(ERROR.REBALANCE_IN_PROGRESS)
  expect(heartbeat(second)).toBe(ERROR.UNKNOWN_MEMBER_ID)
})

test("a leader that never assigns is removed", () => {
  const first = join()
  const second = join()
  const again = join({ memberId: first[0]!.memberId })
  expect(again[0]!.leader).toBe(first[0]!.memberId)
  const waiting = sync(second[0]!.memberId, 2)
  nowMs += REBALANCE_MS
  heartbeat(first[0]!.memberId)
  group.tick(nowMs)
  expect(waiting).toEqual([{ errorCode: ERROR.REBALANCE_IN_PROGRESS }])
  expect([...group.members.keys()]).toEqual([second[0]!.memberId])
})

test("a member that leaves is gone at once", () => {
  const [first, second] = two()
  expect(group.leave(second, null, nowMs)).toBe(ERROR.NONE)
  expect(group.leave(second, null, nowMs)).toBe(ERROR.UNKNOWN_MEMBER_ID)
  expect(heartbeat(first)).toBe(ERROR.REBALANCE_IN_PROGRESS)
  expect(group.leave(first, null, nowMs)).toBe(ERROR.NONE)
  expect(group.state).toBe("Empty")
})

describe("requests that are out of date", () => {
  test("get the error that has the client join again", () => {
    const [first] = two()
    expect(heartbeat(first, 1)).toBe(ERROR.ILLEGAL_GENERATION)
    expect(heartbeat("nobody")).toBe(ERROR.UNKNOWN_MEMBER_ID)
    expect(sync(first, 1)).toEqual([{ errorCode: ERROR.ILLEGAL_GENERATION }])
    expect(join({ memberId: "nobody" })).toEqual([{ errorCode: ERROR.UNKNOWN_MEMBER_ID, memberId: "nobody" }])
  })
})

test("a new member joins with the id that it was given, before its session ends", () => {
  const [required] = join({ needsId: true })
  expect(required!.errorCode).toBe(ERROR.MEMBER_ID_REQUIRED)
  expect(group.members.size).toBe(0)
  expect(join({ needsId: true, memberId: required!.memberId })[0]).toMatchObject({ generation: 1 })
  const [other] = join({ needsId: true })
  nowMs += SESSION_MS
  group.tick(nowMs)
  expect(join({ needsId: true, memberId: other!.memberId })[0]!.errorCode).toBe(ERROR.UNKNOWN_MEMBER_ID)
})

test("members agree on a protocol that all have", () => {
  const protocols = (...names: string[]) => names.map((name) => ({ name, metadata: Buffer.from(name) }))
  const first = join({ protocols: protocols("range", "sticky") })[0]!.memberId
  expect(join({ protocols: protocols("other") })[0]!.errorCode).toBe(ERROR.INCONSISTENT_GROUP_PROTOCOL)
  expect(join({ protocolType: "connect" })[0]!.errorCode).toBe(ERROR.INCONSISTENT_GROUP_PROTOCOL)
  join({ protocols: protocols("sticky", "other") })
  const again = join({ memberId: first, protocols: protocols("range", "sticky") })
  expect(again[0]).toMatchObject({ protocol: "sticky" })
  expect(String(Buffer.from(again[0]!.members![0]!.metadata))).toBe("sticky")
})

describe("a static member", () => {
  test("takes its place again without a rebalance, and fences what it was", () => {
    const [before] = join({ instanceId: "i" })
    sync(before!.memberId, 1, { [before!.memberId]: "mine" }, "i")
    const [after] = join({ instanceId: "i" })
    expect(after).toMatchObject({ errorCode: 0, generation: 1, members: [] })
    expect(after!.memberId).not.toBe(before!.memberId)
    expect(after!.leader).not.toBe(after!.memberId)
    expect(String(Buffer.from(sync(after!.memberId, 1, {}, "i")[0]!.assignment!))).toBe("mine")
    expect(group.heartbeat(before!.memberId, "i", 1, nowMs)).toBe(ERROR.FENCED_INSTANCE_ID)
    expect(join({ instanceId: "i", memberId: before!.memberId })[0]!.errorCode).toBe(ERROR.FENCED_INSTANCE_ID)
  })

  test("with another subscription causes a rebalance", () => {
    const [before] = join({ instanceId: "i" })
    sync(before!.memberId, 1, {}, "i")
    const [after] = join({ instanceId: "i", protocols: [{ name: "range", metadata: Buffer.from("other") }] })
    expect(after).toMatchObject({ errorCode: 0, generation: 2 })
    expect(after!.leader).toBe(after!.memberId)
  })

  test("leaves by its instance", () => {
    join({ instanceId: "i" })
    expect(group.leave("", "i", nowMs)).toBe(ERROR.NONE)
    expect(group.state).toBe("Empty")
  })
})

test("a stable group continues after a restart", () => {
  const [first, second] = two()
  expect(changes).toBeGreaterThan(0)
  const restored = new Group("g", () => {})
  restored.restore(structuredClone(group.snapshot()), 0)
  expect(restored.heartbeat(first, null, 2, 1)).toBe(ERROR.NONE)
  const synced: Synced[] = []
  restored.sync(second, null, 2, [], 1, (one) => synced.push(one))
  expect(String(Buffer.from(synced[0]!.assignment!))).toBe("b")
})

test("a group that was being rebalanced begins anew after a restart, with a later generation", () => {
  const first = join()[0]!.memberId
  const restored = new Group("g", () => {})
  restored.restore(structuredClone(group.snapshot()), 0)
  expect(restored.heartbeat(first, null, 1, 1)).toBe(ERROR.UNKNOWN_MEMBER_ID)
  const joined: Joined[] = []
  restored.join(joining(), 1, (one) => joined.push(one))
  expect(joined[0]!.generation).toBe(2)
})
