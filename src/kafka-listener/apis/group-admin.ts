import type { Group } from "../groups/group.ts"
import { NO_ASSIGNMENT } from "../groups/member.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { DeleteGroups, DescribeGroups, ListGroups } from "../../kafka-protocol/messages.ts"
import { checkGroup, served } from "./context.ts"

const TYPE = "classic"

/** Lists the groups that the client may use. */
export const listGroups = served(ListGroups, ({ statesFilter, typesFilter }, { groups, authentication }) => {
  if (!groups.isLoaded) return { errorCode: ERROR.COORDINATOR_LOAD_IN_PROGRESS }
  const isIn = (filter: readonly string[], value: string): boolean =>
    filter.length === 0 || filter.some((one) => one.toLowerCase() === value.toLowerCase())
  const listed = [...groups.all()].filter(
    ({ id, state }) => authentication.mayUse(id) && isIn(statesFilter, state) && isIn(typesFilter, TYPE),
  )
  return {
    groups: listed.map(({ id, protocolType, state }) => ({
      groupId: id,
      protocolType,
      groupState: state,
      groupType: TYPE,
    })),
  }
})

export const describeGroups = served(DescribeGroups, ({ groups: asked }, context) => ({
  groups: asked.map((groupId) => {
    const errorCode = checkGroup(groupId, context)
    if (errorCode !== ERROR.NONE) return { groupId, errorCode }
    const group = context.groups.find(groupId)
    if (group !== undefined) return describe(group)
    const isMissing = context.version >= 6
    return { groupId, groupState: "Dead", errorCode: isMissing ? ERROR.GROUP_ID_NOT_FOUND : ERROR.NONE }
  }),
}))

function describe({ id, state, protocolType, protocol, members }: Group) {
  return {
    groupId: id,
    groupState: state,
    protocolType,
    protocolData: protocol,
    members: [...members.values()].map((one) => ({
      memberId: one.memberId,
      groupInstanceId: one.instanceId,
      clientId: one.clientId,
      clientHost: one.clientHost,
      memberMetadata: one.protocols.find(({ name }) => name === protocol)?.metadata ?? NO_ASSIGNMENT,
      memberAssignment: one.assignment,
    })),
  }
}

export const deleteGroups = served(DeleteGroups, async ({ groupsNames }, context) => {
  const { groups } = context
  const results = []
  for (const groupId of groupsNames) {
    const group = groups.find(groupId)
    const refused = checkGroup(groupId, context)
    let errorCode: number = ERROR.NONE
    if (refused !== ERROR.NONE) errorCode = refused
    else if (group === undefined) errorCode = ERROR.GROUP_ID_NOT_FOUND
    else if (group.members.size > 0) errorCode = ERROR.NON_EMPTY_GROUP
    else if (!(await groups.delete(groupId))) errorCode = ERROR.COORDINATOR_NOT_AVAILABLE
    results.push({ groupId, errorCode })
  }
  return { results }
})
