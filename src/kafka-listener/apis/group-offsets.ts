import { steadyMs } from "../../clock/clock.ts"
import type { GroupChanges } from "../log.ts"
import { isSubscribed } from "../groups/member.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { RequestOf } from "../../kafka-protocol/fields.ts"
import { OffsetCommit, OffsetDelete, OffsetFetch } from "../../kafka-protocol/messages.ts"
import { checkGroup, served, type Context } from "./context.ts"

const MAX_METADATA_BYTES = 4096

/** Answers once the offsets are durable. */
export const offsetCommit = served(OffsetCommit, async (request, context) => {
  const { groupId, topics } = request
  const { groups, log, version } = context
  const refused = mayCommit(request, context)
  // by partition: one that a request names more than once is written once
  const committed = new Map<string, GroupChanges["offsets"][number]>()
  const answered = topics.map(({ name, topicId, partitions }) => {
    const topic = version >= 10 ? log.topicById(topicId) : log.topic(name)
    const unknown = version >= 10 ? ERROR.UNKNOWN_TOPIC_ID : ERROR.UNKNOWN_TOPIC_OR_PARTITION
    return {
      name,
      topicId,
      partitions: partitions.map((one) => {
        const { partitionIndex, committedOffset: offset, committedLeaderEpoch: given } = one
        const leaderEpoch = given < 0 && log.source.epoch > 0 ? log.source.epoch : given
        const metadata = one.committedMetadata ?? ""
        let errorCode = refused
        if (errorCode !== ERROR.NONE) return { partitionIndex, errorCode }
        if (topic === undefined) errorCode = unknown
        else if (!log.has({ topic, partition: partitionIndex })) errorCode = ERROR.UNKNOWN_TOPIC_OR_PARTITION
        else if (metadata.length > MAX_METADATA_BYTES) errorCode = ERROR.OFFSET_METADATA_TOO_LARGE
        else
          committed.set(`${partitionIndex} ${topic.name}`, [
            groupId,
            topic.name,
            partitionIndex,
            { offset, leaderEpoch, metadata },
          ])
        return { partitionIndex, errorCode }
      }),
    }
  })
  const changes = [...committed.values()]
  const hasRoom = groups.hasRoomFor(changes, context.authentication.groupUser)
  if (changes.length === 0 || (hasRoom && (await groups.commit(changes)))) return { topics: answered }
  const errorCode = hasRoom ? ERROR.COORDINATOR_NOT_AVAILABLE : ERROR.INVALID_COMMIT_OFFSET_SIZE
  const failed = answered.map((topic) => ({
    ...topic,
    partitions: topic.partitions.map((one) => ({ ...one, errorCode })),
  }))
  return { topics: failed }
})

/** An error code for all of a request: members of the current generation commit, and anyone while there are none. */
function mayCommit(request: RequestOf<typeof OffsetCommit>, context: Context): number {
  const { groups } = context
  const { groupId, memberId, groupInstanceId, generationIdOrMemberEpoch: generation } = request
  if (groupId === "") return ERROR.INVALID_GROUP_ID
  const refused = checkGroup(groupId, context)
  if (refused !== ERROR.NONE) return refused
  const group =
    generation < 0 ? groups.findOrMake(groupId, context.authentication.groupUser) : groups.find(groupId)
  if (group === undefined) return generation < 0 ? ERROR.GROUP_MAX_SIZE_REACHED : ERROR.ILLEGAL_GENERATION
  if (generation < 0 && group.state === "Empty") return ERROR.NONE
  const errorCode = group.check(memberId, groupInstanceId, generation)
  if (errorCode !== ERROR.NONE) return errorCode
  group.heard(group.members.get(memberId)!, steadyMs())
  return group.state === "CompletingRebalance" ? ERROR.REBALANCE_IN_PROGRESS : ERROR.NONE
}

interface Asked {
  readonly name: string
  readonly topicId: string
  readonly partitionIndexes: readonly number[]
}

export const offsetFetch = served(OffsetFetch, (request, context) => {
  if (context.version >= 8) {
    const found = request.groups.map(({ groupId, topics }) => {
      const errorCode = checkGroup(groupId, context)
      return {
        groupId,
        errorCode,
        topics: errorCode === ERROR.NONE ? offsetsOf(groupId, topics, context) : [],
      }
    })
    return { groups: found }
  }
  const errorCode = checkGroup(request.groupId, context)
  const topics = request.topics?.map((topic) => ({ ...topic, topicId: "" })) ?? null
  return { errorCode, topics: errorCode === ERROR.NONE ? offsetsOf(request.groupId, topics, context) : [] }
})

/** @param asked null: all that the group has offsets of */
function offsetsOf(groupId: string, asked: readonly Asked[] | null, { groups, log, version }: Context) {
  const topics =
    asked ??
    groups.partitions(groupId).map(([name, partitionIndexes]) => {
      return { name, topicId: log.topic(name)?.uuid ?? "", partitionIndexes }
    })
  return topics.map(({ name: given, topicId, partitionIndexes }) => {
    const name = version >= 10 ? log.topicById(topicId)?.name : given
    const errorCode = name === undefined ? ERROR.UNKNOWN_TOPIC_ID : ERROR.NONE
    return {
      name: given,
      topicId,
      partitions: partitionIndexes.map((partitionIndex) => {
        const found = name === undefined ? undefined : groups.offset(groupId, name, partitionIndex)
        const { offset = -1, leaderEpoch = -1, metadata = "" } = found ?? {}
        return {
          partitionIndex,
          committedOffset: offset,
          committedLeaderEpoch: leaderEpoch,
          metadata,
          errorCode,
        }
      }),
    }
  })
}

export const offsetDelete = served(OffsetDelete, async ({ groupId, topics }, context) => {
  const { groups } = context
  const errorCode = checkGroup(groupId, context)
  if (errorCode !== ERROR.NONE) return { errorCode }
  const group = groups.find(groupId)
  if (group === undefined) return { errorCode: ERROR.GROUP_ID_NOT_FOUND }
  const members = [...group.members.values()]
  // the topics of other kinds of members are known to them alone
  if (members.length > 0 && group.protocolType !== "consumer") return { errorCode: ERROR.NON_EMPTY_GROUP }
  const isRead = new Set(
    topics.map(({ name }) => name).filter((name) => members.some((member) => isSubscribed(member, name))),
  )
  const changes = topics
    .filter(({ name }) => !isRead.has(name))
    .flatMap(({ name, partitions }) =>
      partitions
        .filter(({ partitionIndex }) => groups.offset(groupId, name, partitionIndex) !== undefined)
        .map(({ partitionIndex }) => [groupId, name, partitionIndex, undefined] as const),
    )
  if (changes.length > 0 && !(await groups.commit(changes)))
    return { errorCode: ERROR.COORDINATOR_NOT_AVAILABLE }
  return {
    topics: topics.map(({ name, partitions }) => {
      const errorCode = isRead.has(name) ? ERROR.GROUP_SUBSCRIBED_TO_TOPIC : ERROR.NONE
      return { name, partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })) }
    }),
  }
})
