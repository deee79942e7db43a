import { steadyMs } from "../../clock/clock.ts"
import type { Group } from "../groups/group.ts"
import { MEMBER_BYTES, protocolBytes, type Joined, type Synced } from "../groups/member.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import {
  FindCoordinator,
  Heartbeat,
  JoinGroup,
  LeaveGroup,
  SyncGroup,
} from "../../kafka-protocol/messages.ts"
import { checkGroup, NODE_ID, served, type Context } from "./context.ts"

/** FindCoordinatorRequest.CoordinatorType: there are no coordinators of other kinds here. */
const GROUP = 0
const TRANSACTION = 1
const MAX_SESSION_MS = 1_800_000

export const findCoordinator = served(FindCoordinator, (request, { version, advertised }) => {
  const errorCode =
    request.keyType === TRANSACTION
      ? ERROR.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
      : ERROR.COORDINATOR_NOT_AVAILABLE
  const found = request.keyType === GROUP ? { nodeId: NODE_ID, ...advertised } : { nodeId: -1, errorCode }
  if (version < 4) return found
  return { coordinators: request.coordinatorKeys.map((key) => ({ key, ...found })) }
})

/** The group of a request that a member sends, or the error code. */
function groupOf(context: Context, groupId: string): Group | number {
  if (groupId === "") return ERROR.INVALID_GROUP_ID
  const errorCode = checkGroup(groupId, context)
  if (errorCode !== ERROR.NONE) return errorCode
  return context.groups.find(groupId) ?? ERROR.UNKNOWN_MEMBER_ID
}

export const joinGroup = served(JoinGroup, async (request, context) => {
  const { groupId, memberId, groupInstanceId: instanceId, sessionTimeoutMs, protocolType } = request
  const { groups, version, clientId, clientHost, authentication, signal } = context
  const refused = (errorCode: number) => ({ errorCode, memberId, protocolName: "" })
  if (groupId === "") return refused(ERROR.INVALID_GROUP_ID)
  const errorCode = checkGroup(groupId, context)
  if (errorCode !== ERROR.NONE) return refused(errorCode)
  if (sessionTimeoutMs < 1 || sessionTimeoutMs > MAX_SESSION_MS) return refused(ERROR.INVALID_SESSION_TIMEOUT)
  const isSettled = groups.find(groupId)?.wasStable === true
  const mayJoin = memberId !== "" || isSettled || groups.unsettled.hasRoom(signal)
  const by = authentication.groupUser
  const made = memberId === "" && mayJoin ? groups.findOrMake(groupId, by) : undefined
  const group = memberId === "" ? made : groups.find(groupId)
  if (group === undefined)
    return refused(memberId === "" ? ERROR.GROUP_MAX_SIZE_REACHED : ERROR.UNKNOWN_MEMBER_ID)
  const rebalanceTimeoutMs = request.rebalanceTimeoutMs < 0 ? sessionTimeoutMs : request.rebalanceTimeoutMs
  // copies: the frame that they are views of may be large
  const protocols = request.protocols.map(({ name, metadata }) => ({
    name,
    metadata: new Uint8Array(metadata),
  }))
  const before = group.members.get(memberId)?.protocols ?? []
  const more = MEMBER_BYTES + clientId.length + protocolBytes(protocols) - protocolBytes(before)
  if (more > 0 && !groups.hasRoom(more, { ...by, user: group.owner }))
    return refused(ERROR.GROUP_MAX_SIZE_REACHED)
  const { promise, resolve } = Promise.withResolvers<Joined>()
  const member = { memberId, instanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs }
  const joining = { ...member, protocolType, protocols, needsId: version >= 4 }
  const newId = group.join(joining, steadyMs(), resolve)
  if (newId !== undefined && !group.wasStable) groups.unsettled.add(group, newId, signal)
  const { generation, protocol = "", ...joined } = await promise
  return { ...joined, generationId: generation, protocolName: protocol }
})

export const syncGroup = served(SyncGroup, async (request, context) => {
  const { groupId, memberId, groupInstanceId, generationId, assignments } = request
  const group = groupOf(context, groupId)
  if (typeof group === "number") return { errorCode: group }
  const bytes = assignments.reduce((sum, { assignment }) => sum + assignment.length, 0)
  const by = { ...context.authentication.groupUser, user: group.owner }
  if (bytes > 0 && !context.groups.hasRoom(bytes, by)) return { errorCode: ERROR.GROUP_MAX_SIZE_REACHED }
  const { promise, resolve } = Promise.withResolvers<Synced>()
  group.sync(memberId, groupInstanceId, generationId, assignments, steadyMs(), resolve)
  const { protocolType, protocol: protocolName } = group
  return { protocolType, protocolName, ...(await promise) }
})

export const heartbeat = served(Heartbeat, (request, context) => {
  const group = groupOf(context, request.groupId)
  if (typeof group === "number") return { errorCode: group }
  const { memberId, groupInstanceId, generationId } = request
  return { errorCode: group.heartbeat(memberId, groupInstanceId, generationId, steadyMs()) }
})

export const leaveGroup = served(LeaveGroup, (request, context) => {
  const group = groupOf(context, request.groupId)
  if (typeof group === "number") return { errorCode: group }
  if (context.version < 3) return { errorCode: group.leave(request.memberId, null, steadyMs()) }
  const members = request.members.map(({ memberId, groupInstanceId }) => ({
    memberId,
    groupInstanceId,
    errorCode: group.leave(memberId, groupInstanceId, steadyMs()),
  }))
  return { members }
})
