import { beforeEach, expect, spyOn, test } from "bun:test"
import { requestOf, responseIn } from "../../../test/support/listener-client.ts"
import { Commits } from "../commits.ts"
import { Groups } from "../groups/groups.ts"
import { LogView } from "../log-view.ts"
import { SharedCounters } from "../shared-counters.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { Api } from "../../kafka-protocol/fields.ts"
import {
  DescribeGroups,
  JoinGroup,
  OffsetCommit,
  OffsetFetch,
  SyncGroup,
} from "../../kafka-protocol/messages.ts"
import { FakeLog } from "../../../test/support/fake-listener-log.ts"
import { ClientAuthentication } from "../security/authentication.ts"
import { answer, type Serving } from "./apis.ts"

const log = new FakeLog()
for (const topic of ["webhooks", ...Array.from({ length: 100 }, (_, n) => `other-${n}`)])
  log.append(topic, Buffer.from("{}"))
let serving: Serving
let written: number

beforeEach(() => {
  written = 0
  const groups: Groups = new Groups({
    write({ offsets }) {
      written += offsets.length
      queueMicrotask(() => groups.written(true))
    },
    expired: (ids) => expect(ids).toEqual([]),
  })
  groups.load(
    { groups: [], offsets: [] },
    { clusterId: "log", lastCommittable: () => ({ offset: Infinity, leaderEpoch: 0 }) },
  )
  serving = {
    log: new LogView(() => log, new SharedCounters()),
    commits: new Commits(new SharedCounters()),
    groups,
    retention: { ms: 1, bytes: 1 },
    advertised: { host: "127.0.0.1", port: 9092 },
    authentication: new ClientAuthentication(undefined, false),
    clientHost: "/127.0.0.1",
    failed: (error) => {
      throw error
    },
    signal: new AbortController().signal,
  }
  serving.log.open()
})
const ask = async (api: Api, version: number, request: object) =>
  responseIn(api, version, await answer(requestOf(api, version, request), serving))

const MIB = 1024 * 1024
const join = (groupId: string, metadata: Uint8Array, memberId = ""): ReturnType<typeof ask> =>
  ask(JoinGroup, 1, {
    groupId,
    sessionTimeoutMs: 1_800_000,
    rebalanceTimeoutMs: 1_800_000,
    memberId,
    protocolType: "consumer",
    protocols: [{ name: "range", metadata }],
  })

test("the members of groups keep 16 MiB at most, of all groups together", async () => {
  const errors: unknown[] = []
  for (let n = 0; n < 6; n++) errors.push((await join(`g${n}`, Buffer.alloc(4 * MIB)))["errorCode"])
  expect(errors).toEqual([
    0,
    0,
    0,
    ERROR.GROUP_MAX_SIZE_REACHED,
    ERROR.GROUP_MAX_SIZE_REACHED,
    ERROR.GROUP_MAX_SIZE_REACHED,
  ])
  // what is small has room
  expect((await join("small", Buffer.alloc(1000)))["errorCode"]).toBe(0)
})

test("a member that joins again is what counts, and not what it was", async () => {
  const { memberId } = (await join("g", Buffer.alloc(9 * MIB))) as { memberId: string }
  expect((await join("g", Buffer.alloc(10 * MIB), memberId))["errorCode"]).toBe(0)
})

test("ids that are given out count", async () => {
  await join("large", Buffer.alloc(15.5 * MIB))
  const one = (): ReturnType<typeof ask> =>
    ask(JoinGroup, 4, {
      groupId: "g",
      sessionTimeoutMs: 1_800_000,
      rebalanceTimeoutMs: 1000,
      memberId: "",
      protocolType: "consumer",
      protocols: [{ name: "range", metadata: Buffer.alloc(0) }],
    })
  const errors = new Map<unknown, number>()
  for (let n = 0; n < 2000; n++) {
    const { errorCode } = await one()
    errors.set(errorCode, (errors.get(errorCode) ?? 0) + 1)
    if (errorCode === ERROR.GROUP_MAX_SIZE_REACHED) break
  }
  expect([...errors.keys()]).toEqual([ERROR.MEMBER_ID_REQUIRED, ERROR.GROUP_MAX_SIZE_REACHED])
})

test("assignments count", async () => {
  const { memberId, generationId } = await join("g", Buffer.alloc(10 * MIB))
  const sync = (assignment: Uint8Array): ReturnType<typeof ask> =>
    ask(SyncGroup, 1, { groupId: "g", generationId, memberId, assignments: [{ memberId, assignment }] })
  expect((await sync(Buffer.alloc(7 * MIB)))["errorCode"]).toBe(ERROR.GROUP_MAX_SIZE_REACHED)
  expect((await sync(Buffer.alloc(1000)))["errorCode"]).toBe(0)
})

const commit = (groupId: string, committed: readonly string[]): ReturnType<typeof ask> =>
  ask(OffsetCommit, 2, {
    groupId,
    generationIdOrMemberEpoch: -1,
    memberId: "",
    retentionTimeMs: -1,
    topics: [
      {
        name: "webhooks",
        partitions: committed.map((committedMetadata) => ({
          partitionIndex: 0,
          committedOffset: 1,
          committedMetadata,
        })),
      },
    ],
  })

test("a partition that one request commits a thousand times is written once", async () => {
  await commit(
    "g",
    Array.from({ length: 1000 }, () => "m"),
  )
  expect(written).toBe(1)
})

test("an answer is no larger than 32 MiB", async () => {
  await commit("g", ["x".repeat(4000)])
  const asking = ask(OffsetFetch, 1, {
    groupId: "g",
    topics: [{ name: "webhooks", partitionIndexes: Array.from({ length: 15_000 }, () => 0) }],
  })
  await expect(asking).rejects.toThrow("answer")
  const { groups } = await ask(DescribeGroups, 0, { groups: ["g"] })
  expect(groups).toHaveLength(1)
})

test("the unknown topics of a request are looked up once while the clock stands", async () => {
  using looks = spyOn(log, "topics")
  using _clock = spyOn(performance, "now").mockReturnValue(performance.now() + 1000)
  await ask(OffsetCommit, 2, {
    groupId: "g",
    generationIdOrMemberEpoch: -1,
    memberId: "",
    retentionTimeMs: -1,
    topics: Array.from({ length: 19_000 }, (_, n) => ({ name: `t${n}`, partitions: [] })),
  })
  expect(looks).toHaveBeenCalledTimes(1)
})
