import { beforeEach, expect, test } from "bun:test"
import { FakeLog } from "../../../test/support/fake-listener-log.ts"
import { requestOf, responseIn } from "../../../test/support/listener-client.ts"
import { Commits } from "../commits.ts"
import { Groups } from "../groups/groups.ts"
import { LogView } from "../log-view.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { Api } from "../../kafka-protocol/fields.ts"
import { JoinGroup, OffsetCommit, SyncGroup } from "../../kafka-protocol/messages.ts"
import { ClientAuthentication } from "../security/authentication.ts"
import { usersOf } from "../security/credentials.ts"
import { SharedCounters } from "../shared-counters.ts"
import { answer } from "./apis.ts"

const log = new FakeLog()
log.append("webhooks", Buffer.from("{}"))
const USERS = usersOf(["billing:obviously-fake", "audit:obviously-fake"], ["billing=billing-*", "audit=*"])
let groups: Groups

beforeEach(() => {
  groups = new Groups({
    write: () => queueMicrotask(() => groups.written(true)),
    expired: (ids) => expect(ids).toEqual([]),
  })
  groups.load(
    { groups: [], offsets: [] },
    { clusterId: "log", lastCommittable: () => ({ offset: Infinity, leaderEpoch: 0 }) },
  )
})

/** A connection of a user, or of nobody. */
function connect(user?: string) {
  const authentication = new ClientAuthentication(user === undefined ? undefined : USERS, true)
  if (user !== undefined) {
    authentication.begin("PLAIN", false)
    authentication.take(Buffer.from(`\0${user}\0obviously-fake`))
  }
  const closing = new AbortController()
  const view = new LogView(() => log, new SharedCounters())
  view.open()
  const serving = {
    log: view,
    commits: new Commits(new SharedCounters()),
    groups,
    retention: { ms: 1, bytes: 1 },
    advertised: { host: "127.0.0.1", port: 9092 },
    authentication,
    clientHost: "/127.0.0.1",
    failed: (error: unknown) => {
      throw error
    },
    signal: closing.signal,
  }
  const ask = async (api: Api, version: number, request: object) =>
    responseIn(api, version, await answer(requestOf(api, version, request), serving))
  return {
    close: () => closing.abort(),
    join: (groupId: string, { version = 1, memberId = "", bytes = 0 } = {}) =>
      ask(JoinGroup, version, {
        groupId,
        sessionTimeoutMs: 1_800_000,
        rebalanceTimeoutMs: 1_800_000,
        memberId,
        protocolType: "consumer",
        protocols: [{ name: "range", metadata: Buffer.alloc(bytes) }],
      }),
    sync: (groupId: string, memberId: unknown) =>
      ask(SyncGroup, 1, { groupId, generationId: 1, memberId, assignments: [] }),
    commit: (groupId: string, metadata = "") =>
      ask(OffsetCommit, 2, {
        groupId,
        generationIdOrMemberEpoch: -1,
        memberId: "",
        retentionTimeMs: -1,
        topics: [
          {
            name: "webhooks",
            partitions: [{ partitionIndex: 0, committedOffset: 1, committedMetadata: metadata }],
          },
        ],
      }),
  }
}

const FULL = ERROR.GROUP_MAX_SIZE_REACHED
const committedWith = (answered: Awaited<ReturnType<ReturnType<typeof connect>["commit"]>>): unknown =>
  (answered as { topics: { partitions: { errorCode: number }[] }[] }).topics[0]!.partitions[0]!.errorCode

test("a user makes as many groups as its share, and leaves the others theirs", async () => {
  const billing = connect("billing")
  let made = 0
  for (let errorCode: unknown = 0; errorCode === 0; made++)
    errorCode = committedWith(await billing.commit(`billing-${made}`))
  expect(made - 1).toBe(5000)
  expect(committedWith(await connect("audit").commit("nightly"))).toBe(0)
  expect((await connect("audit").join("daily"))["errorCode"]).toBe(0)
  // its own groups go on
  expect(committedWith(await billing.commit("billing-0"))).toBe(0)
  expect((await connect("billing").join("billing-x"))["errorCode"]).toBe(FULL)
})

test("a user's groups take its share of the memory, and leave the others theirs", async () => {
  const [billing, audit] = [connect("billing"), connect("audit")]
  expect((await billing.join("billing-1", { bytes: 7 * 1024 * 1024 }))["errorCode"]).toBe(0)
  expect((await billing.join("billing-2", { bytes: 2 * 1024 * 1024 }))["errorCode"]).toBe(FULL)
  expect((await audit.join("nightly", { bytes: 7 * 1024 * 1024 }))["errorCode"]).toBe(0)
})

test.each([
  ["a member", 1, 0],
  ["an id that was given out", 4, ERROR.MEMBER_ID_REQUIRED],
])("a group that never became stable ends with its connection: %s", async (_, version, expected) => {
  const connection = connect()
  expect((await connection.join("g", { version }))["errorCode"]).toBe(expected)
  expect(groups.find("g")!.isActive).toBe(true)
  connection.close()
  await new Promise(setImmediate)
  expect(groups.find("g")?.isActive ?? false).toBe(false)
  expect(groups.find("g")?.generation ?? 0).toBe(0)
})

test("a group that was stable outlives its connection, and so do committed offsets", async () => {
  const connection = connect()
  const { memberId } = await connection.join("stable")
  expect((await connection.sync("stable", memberId))["errorCode"]).toBe(0)
  await connection.commit("committed")
  connection.close()
  await new Promise(setImmediate)
  expect(groups.find("stable")!.state).toBe("Stable")
  expect(groups.offset("committed", "webhooks", 0)?.offset).toBe(1)
})

test("a connection joins a hundred groups that are not stable yet, and others after these are", async () => {
  const connection = connect()
  const members: unknown[] = []
  for (let n = 0; n < 100; n++) members.push((await connection.join(`g${n}`))["memberId"])
  expect((await connection.join("g100"))["errorCode"]).toBe(FULL)
  expect((await connect().join("other"))["errorCode"]).toBe(0)
  await connection.sync("g0", members[0])
  expect((await connection.join("g100"))["errorCode"]).toBe(0)
})
