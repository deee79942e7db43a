import { expect, test } from "bun:test"
import { requestOf, responseIn } from "../../../test/support/listener-client.ts"
import { Groups } from "../groups/groups.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { rangeOf, type Api } from "../../kafka-protocol/fields.ts"
import {
  DeleteGroups,
  DescribeGroups,
  Heartbeat,
  JoinGroup,
  LeaveGroup,
  ListGroups,
  OffsetCommit,
  OffsetDelete,
  OffsetFetch,
  SyncGroup,
} from "../../kafka-protocol/messages.ts"
import { ClientAuthentication } from "../security/authentication.ts"
import { usersOf } from "../security/credentials.ts"
import { answer, type Serving } from "./apis.ts"

const USERS = ["billing:obviously-fake", "audit:obviously-fake", "reader:obviously-fake"]
const limited = usersOf(USERS, ["billing=billing-*", "audit=audit", "audit=nightly"])

function authenticated(user: string, users = limited): ClientAuthentication {
  const authentication = new ClientAuthentication(users, true)
  authentication.begin("PLAIN", false)
  authentication.take(Buffer.from(`\0${user}\0obviously-fake`))
  expect(authentication.state).toBe("done")
  return authentication
}

const groups: Groups = new Groups({
  write: () => queueMicrotask(() => groups.written(true)),
  expired: (ids) => expect(ids).toEqual([]),
})
const committed = { offset: 7, leaderEpoch: 0, metadata: "" }
groups.load(
  { groups: [], offsets: [["billing-1", "webhooks", 0, committed]] },
  { clusterId: "log", lastCommittable: () => ({ offset: Infinity, leaderEpoch: 0 }) },
)
groups.findOrMake("billing-1")
const topic = { name: "webhooks", id: 1, uuid: "", partitions: 1 }
const log = { whenOpen: () => undefined, topic: () => topic, has: () => true, source: { epoch: 0 } }

/** Serves a request in the newest version that names topics, unless another is given. */
async function ask(user: string, api: Api, request: object, version = rangeOf(api.versions)[1]) {
  const { signal } = new AbortController()
  const serving = { groups, log, authentication: authenticated(user), failed: expect.unreachable, signal }
  const parts = await answer(requestOf(api, version, request), serving as unknown as Serving)
  return responseIn(api, version, parts)
}

const groupId = "billing-1"
const partition = { partitionIndex: 0 }
const topics = [
  { name: "webhooks", partitions: [{ ...partition, committedOffset: 1, committedLeaderEpoch: -1 }] },
]
const asked = { groupId, memberId: "m", groupInstanceId: null }

const REQUESTS: readonly (readonly [string, Api, object, number?])[] = [
  ["join", JoinGroup, { ...asked, protocolType: "consumer", protocols: [], sessionTimeoutMs: 1000 }],
  ["sync", SyncGroup, { ...asked, assignments: [] }],
  ["heartbeat", Heartbeat, asked],
  ["leave", LeaveGroup, { groupId, members: [] }],
  ["commit", OffsetCommit, { ...asked, generationIdOrMemberEpoch: -1, topics }, 9],
  ["fetch its offsets", OffsetFetch, { groups: [{ groupId, topics: null, memberId: null }] }, 9],
  ["fetch its offsets, by an older client", OffsetFetch, { groupId, topics: null }, 7],
  ["delete its offsets", OffsetDelete, { groupId, topics: [{ name: "webhooks", partitions: [partition] }] }],
  ["delete", DeleteGroups, { groupsNames: [groupId] }],
  ["describe", DescribeGroups, { groups: [groupId] }],
]

for (const user of ["audit", "reader"])
  for (const [what, api, request, version] of REQUESTS)
    test(`kafka_groups gives ${user} other groups or none: it can't ${what}`, async () => {
      const response = JSON.stringify(await ask(user, api, request, version))
      expect(response).toContain(`"errorCode":${ERROR.GROUP_AUTHORIZATION_FAILED}`)
      expect(groups.offset(groupId, "webhooks", 0)).toEqual(committed)
      expect(groups.find(groupId)).toBeDefined()
    })

test("a user uses its own groups, and lists them alone", async () => {
  const listed = async (user: string) =>
    (await ask(user, ListGroups, { statesFilter: [], typesFilter: [] }))["groups"]
  expect(await listed("audit")).toEqual([])
  expect(await listed("billing")).toEqual([expect.objectContaining({ groupId })])
  const found = await ask("billing", OffsetFetch, { groups: [{ groupId, topics: null, memberId: null }] }, 9)
  expect(found["groups"]).toEqual([
    expect.objectContaining({
      errorCode: 0,
      topics: [expect.objectContaining({ partitions: [expect.objectContaining({ committedOffset: 7 })] })],
    }),
  ])
})

test.each([
  ["billing", "billing-", true],
  ["billing", "billing-*", true],
  ["billing", "billing", false],
  ["billing", "BILLING-1", false],
  ["billing", "audit", false],
  ["audit", "audit", true],
  ["audit", "nightly", true],
  ["audit", "audit-2", false],
  ["reader", "", false],
])("%s and the group %j: %j", (user, group, may) => {
  expect(authenticated(user).mayUse(group)).toBe(may)
})

test("without kafka_groups each user, and without kafka_users each client, uses every group", () => {
  expect(authenticated("audit", usersOf(USERS)).mayUse("billing-1")).toBe(true)
  expect(new ClientAuthentication(undefined, false).mayUse("billing-1")).toBe(true)
})
