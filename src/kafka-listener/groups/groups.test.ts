import { describe, expect, test } from "bun:test"
import { requestOf, responseIn } from "../../../test/support/listener-client.ts"
import { answer, type Serving } from "../apis/apis.ts"
import { ByteWriter } from "../../kafka-protocol/byte-writer.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { OffsetDelete } from "../../kafka-protocol/messages.ts"
import { ClientAuthentication } from "../security/authentication.ts"
import type { MachineTime } from "../../clock/machine-clock.ts"
import type { GroupChanges } from "../log.ts"
import { Groups, type LoadedLog } from "./groups.ts"

const WEEK_MS = 7 * 24 * 3_600_000
const LOG = "cluster id of the log"
const START_MS = Date.UTC(2026, 0, 1)

interface Opened {
  readonly groups: Groups
  readonly written: GroupChanges[]
  readonly expired: string[]
}

/** A machine that was started `passed()` ago. */
const machine = (passed: () => number): MachineTime => ({ boot: "one", now: passed })

/** A log that no copy has replaced. */
const logOf = (clusterId: string): LoadedLog => ({
  clusterId,
  lastCommittable: () => ({ offset: Infinity, leaderEpoch: 0 }),
})

const NONE: GroupChanges = { clusterId: LOG, groups: [], offsets: [] }

const clock = { boot: "one", uptime: 0, now: START_MS }

/** @param passed milliseconds since the groups' clock was at START_MS */
function open(passed?: () => number, kept = NONE): Opened {
  const written: GroupChanges[] = []
  const expired: string[] = []
  const groups: Groups = new Groups({
    ...(passed !== undefined && { machine: machine(passed) }),
    write(changes) {
      written.push(structuredClone(changes))
      queueMicrotask(() => groups.written(true))
    },
    expired: (ids) => void expired.push(...ids),
  })
  groups.load(passed === undefined ? kept : { ...kept, clock }, logOf(LOG))
  return { groups, written, expired }
}

const offset = (group: string, topic: string): GroupChanges["offsets"][number] => [
  group,
  topic,
  0,
  { offset: 1, leaderEpoch: 0, metadata: "" },
]

/** A subscription of version 1. */
function subscription(...topics: readonly string[]): Uint8Array {
  const to = new ByteWriter()
  to.int16(1)
  to.int32(topics.length)
  for (const topic of topics) {
    to.int16(topic.length)
    to.bytes(Buffer.from(topic))
  }
  to.int32(-1)
  return to.written()
}

function join(groups: Groups, id: string, protocolType: string, metadata: Uint8Array): string {
  const member = { memberId: "", instanceId: null, clientId: "c", clientHost: "/::1", protocolType }
  const times = { sessionTimeoutMs: 10_000, rebalanceTimeoutMs: 10_000 }
  let memberId = ""
  const joining = { ...member, ...times, protocols: [{ name: "range", metadata }], needsId: false }
  groups.findOrMake(id)!.join(joining, 0, (joined) => (memberId = joined.memberId))
  return memberId
}

test("a group is deleted with its offsets a week after it became empty", async () => {
  let passedMs = 0
  const { groups, written, expired } = open(() => passedMs)
  const memberId = join(groups, "g", "consumer", subscription("t"))
  await groups.commit([offset("g", "t")])
  passedMs += WEEK_MS
  await groups.expire()
  groups.find("g")!.leave(memberId, null, 0)
  passedMs += WEEK_MS - 1
  await groups.expire()
  expect(groups.offset("g", "t", 0)).toBeDefined()
  passedMs += 1
  await groups.expire()
  expect(groups.find("g")).toBeUndefined()
  expect(groups.offset("g", "t", 0)).toBeUndefined()
  expect(written.at(-1)).toEqual({ groups: [["g", undefined]], offsets: [["g", "t", 0, undefined]] })
  expect(expired).toEqual(["g"])
})

test("a commit without a member keeps the group for a week, over a restart too", async () => {
  let passedMs = 0
  const by = (): number => passedMs
  const { groups, written } = open(by)
  groups.findOrMake("g")
  await groups.commit([offset("g", "t")])
  passedMs += WEEK_MS - 1
  await groups.commit([offset("g", "t")])
  const again = open(by, written.at(-1)).groups
  passedMs += WEEK_MS - 1
  await again.expire()
  expect(again.offset("g", "t", 0)).toBeDefined()
  passedMs += 1
  await again.expire()
  expect(again.find("g")).toBeUndefined()
})

async function deleteOffsets(groups: Groups, ...topics: readonly string[]): Promise<number[]> {
  const asked = topics.map((name) => ({ name, partitions: [{ partitionIndex: 0 }] }))
  const serving = {
    groups,
    log: { whenOpen: () => undefined },
    authentication: new ClientAuthentication(undefined, false),
    failed: expect.unreachable,
  } as unknown as Serving
  const parts = await answer(requestOf(OffsetDelete, 0, { groupId: "g", topics: asked }), serving)
  const response = responseIn(OffsetDelete, 0, parts) as unknown as Deleted
  return [response.errorCode, ...response.topics.map(({ partitions }) => partitions[0]!.errorCode)]
}

interface Deleted {
  readonly errorCode: number
  readonly topics: readonly { readonly partitions: readonly { readonly errorCode: number }[] }[]
}

test("offsets of a topic are deleted unless a member has subscribed to it", async () => {
  const { groups } = open()
  join(groups, "g", "consumer", subscription("read", "read-too"))
  await groups.commit([offset("g", "read"), offset("g", "left")])
  expect(await deleteOffsets(groups, "read", "left")).toEqual([
    ERROR.NONE,
    ERROR.GROUP_SUBSCRIBED_TO_TOPIC,
    ERROR.NONE,
  ])
  expect(groups.offset("g", "read", 0)).toBeDefined()
  expect(groups.offset("g", "left", 0)).toBeUndefined()
})

test("offsets of a group with members that are no consumers, or can't be read, stay", async () => {
  const { groups } = open()
  const memberId = join(groups, "g", "connect", subscription())
  expect((await deleteOffsets(groups)).at(0)).toBe(ERROR.NON_EMPTY_GROUP)
  groups.find("g")!.leave(memberId, null, 0)
  join(groups, "g", "consumer", Buffer.from([0, 1, 0, 0, 0, 9]))
  expect(await deleteOffsets(groups, "any")).toEqual([ERROR.NONE, ERROR.GROUP_SUBSCRIBED_TO_TOPIC])
})

describe("the groups of another log", () => {
  test("are deleted by the first write that succeeds", async () => {
    const written: GroupChanges[] = []
    const answers = [false, true, true]
    const groups: Groups = new Groups({
      write(changes) {
        written.push(structuredClone(changes))
        queueMicrotask(() => groups.written(answers.shift()!))
      },
      expired: (ids) => expect(ids).toEqual([]),
    })
    const { isOfAnotherLog } = groups.load(
      { clusterId: "other", groups: [], offsets: [offset("g", "t")] },
      logOf(LOG),
    )
    expect(isOfAnotherLog).toBe(true)
    expect(await groups.commit([offset("g", "u")])).toBe(true)
    expect(await groups.commit([offset("g", "v")])).toBe(true)
    expect(written.map(({ clusterId }) => clusterId)).toEqual([LOG, LOG, undefined])
    expect(groups.partitions("g")).toEqual([
      ["u", [0]],
      ["v", [0]],
    ])
  })

  test("that an earlier version wrote without saying of which log are kept", () => {
    const { groups, written } = open(undefined, { groups: [], offsets: [offset("g", "t")] })
    expect(groups.offset("g", "t", 0)).toBeDefined()
    expect(written).toEqual([{ clusterId: LOG, groups: [], offsets: [] }])
  })
})
