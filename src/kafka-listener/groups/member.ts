import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { randomUUID } from "node:crypto"
import type { DescribedMember, KeptMember, Protocol } from "../log.ts"
import { ByteReader, Malformed } from "../../kafka-protocol/byte-reader.ts"

export interface Joining extends DescribedMember {
  readonly protocolType: string
  /** Whether a new member without a static id has to join again with the id that it is given (KIP-394). */
  readonly needsId: boolean
}

/** The answer to a member that joins. */
export interface Joined {
  readonly errorCode: number
  readonly memberId: string
  readonly generation?: number
  readonly protocolType?: string
  readonly protocol?: string
  readonly leader?: string
  /** For the leader, with each one's subscription. */
  readonly members?: readonly {
    readonly memberId: string
    readonly groupInstanceId: string | null
    readonly metadata: Uint8Array
  }[]
}

/** The answer to a member that asks for its partitions. */
export interface Synced {
  readonly errorCode: number
  readonly assignment?: Uint8Array
}

export interface Member extends DescribedMember {
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
  protocols: readonly Protocol[]
  assignment: Uint8Array
  /** It is gone unless it is heard of before, by the steady clock. */
  expiresMs: number
  /** It waits for the others to join, or for the leader's assignment. */
  joining: ((joined: Joined) => void) | undefined
  syncing: ((synced: Synced) => void) | undefined
}

export function newMember(described: DescribedMember, memberId: string, nowMs: number): Member {
  const { instanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs, protocols } = described
  const expiresMs = nowMs + sessionTimeoutMs
  const own = { memberId, instanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs, protocols }
  return { ...own, assignment: NO_ASSIGNMENT, expiresMs, joining: undefined, syncing: undefined }
}

export const newMemberId = ({ instanceId, clientId }: DescribedMember): string =>
  `${instanceId ?? clientId}-${randomUUID()}`

export function kept(member: Member): KeptMember {
  const { memberId, instanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs } = member
  const { protocols, assignment } = member
  const described = { memberId, instanceId, clientId, clientHost, sessionTimeoutMs, rebalanceTimeoutMs }
  return { ...described, protocols, assignment }
}

/** What a member takes in addition to its ids, subscriptions and assignment. */
export const MEMBER_BYTES = 512

/** What a member takes in memory, about. */
export function memberBytes({ memberId, instanceId, clientId, protocols, assignment }: Member): number {
  const ids = memberId.length + (instanceId?.length ?? 0) + clientId.length
  return MEMBER_BYTES + ids + protocolBytes(protocols) + assignment.length
}

export const protocolBytes = (protocols: readonly Protocol[]): number =>
  protocols.reduce((sum, { name, metadata }) => sum + 64 + name.length + metadata.length, 0)

export const NO_ASSIGNMENT = new Uint8Array(0)

export const isSame = (a: readonly Protocol[], b: readonly Protocol[]): boolean =>
  a.length === b.length &&
  a.every(({ name, metadata }, at) => name === b[at]!.name && Buffer.compare(metadata, b[at]!.metadata) === 0)

/**
 * Whether a consumer reads a topic. One whose subscription can't be read is taken to, as Kafka does:
 * https://github.com/apache/kafka/blob/trunk/clients/src/main/resources/common/message/ConsumerProtocolSubscription.json
 */
export function isSubscribed({ protocols }: DescribedMember, topic: string): boolean {
  try {
    return protocols.some(({ metadata }) => {
      const from = new ByteReader(Buffer.from(metadata.buffer, metadata.byteOffset, metadata.length))
      from.int16()
      for (let left = from.elements(false); left > 0; left--)
        if (from.take(Math.max(0, from.int16())).toString() === topic) return true
      return false
    })
  } catch (error) {
    if (error instanceof Malformed) return true
    throw error
  }
}

export const isCommon = (name: string, members: readonly Member[]): boolean =>
  members.every(({ protocols }) => protocols.some((one) => one.name === name))

/** The protocol that most members like best, of those that all support. */
export function chosen(members: readonly Member[]): string {
  const votes = new Map<string, number>()
  for (const { protocols } of members) {
    const best = protocols.find(({ name }) => isCommon(name, members))!.name
    votes.set(best, (votes.get(best) ?? 0) + 1)
  }
  return [...votes].toSorted(([, a], [, b]) => b - a)[0]![0]
}

/** Whether a joining member has a protocol in common with all others of its group. */
export function fits(
  { protocolType, protocols, memberId }: Joining,
  group: { readonly members: ReadonlyMap<string, Member>; readonly protocolType: string },
): boolean {
  const others = [...group.members.values()].filter((one) => one.memberId !== memberId)
  if (protocols.length === 0 || protocolType === "") return false
  if (others.length === 0) return true
  return protocolType === group.protocolType && protocols.some(({ name }) => isCommon(name, others))
}

/** What a member is answered once its group has a generation. */
export function joinedAs(
  { memberId }: Member,
  group: {
    readonly leader: string
    readonly members: ReadonlyMap<string, Member>
    readonly generation: number
    readonly protocolType: string
    readonly protocol: string
  },
): Joined {
  const { generation, protocolType, protocol, leader } = group
  const members = [...group.members.values()].map((one) => ({
    memberId: one.memberId,
    groupInstanceId: one.instanceId,
    metadata: one.protocols.find(({ name }) => name === protocol)?.metadata ?? NO_ASSIGNMENT,
  }))
  return {
    errorCode: ERROR.NONE,
    memberId,
    generation,
    protocolType,
    protocol,
    leader,
    members: memberId === leader ? members : [],
  }
}
