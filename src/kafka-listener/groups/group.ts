import type { GroupSnapshot } from "../log.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import {
  chosen,
  fits,
  isSame,
  joinedAs,
  kept,
  newMember,
  newMemberId,
  NO_ASSIGNMENT,
  type Joined,
  type Joining,
  type Member,
  type Synced,
} from "./member.ts"

/*
 * A consumer group of the classic protocol: https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Client-side+Assignment+Proposal
 * Its states:
 *
 *   Empty                no members; it may have offsets.
 *   PreparingRebalance   a member came, went or changed its subscription: the others learn of it by their heartbeats, and have
 *                        the longest of their rebalance timeouts to join again. Then those that did are the members.
 *   CompletingRebalance  a new generation: the leader assigns partitions, and the others wait for it in SyncGroup.
 *   Stable               every member has its assignment.
 *
 * A member that is not heard of for its session timeout is removed, which prepares a rebalance. A static member
 * (KIP-345) that comes again takes its own place, and its predecessor is fenced.
 */
export type GroupState = "Empty" | "PreparingRebalance" | "CompletingRebalance" | "Stable"

export class Group {
  readonly id: string
  /** The state is to be kept: a generation began or was assigned, or members went. */
  readonly #changed: () => void
  readonly members = new Map<string, Member>()
  /** Ids given to members that have yet to join with them, and until when. */
  readonly pendingIds = new Map<string, number>()
  state: GroupState = "Empty"
  generation = 0
  /** Time of day; the rest is by the steady clock. */
  changedMs = 0
  protocolType = ""
  protocol = ""
  /** The user that made it, or used it first since the start; undefined: nobody authenticates. */
  owner: string | undefined
  /** Whether all members of a generation have had their assignments. */
  wasStable = false
  #leader = ""
  /** End of the current state, where members must act in it. */
  #untilMs = Number.POSITIVE_INFINITY

  constructor(id: string, changed: () => void) {
    this.id = id
    this.#changed = changed
  }

  /**
   * @param join answered now, or once the others have joined
   * @returns the id of a new member, or one given out; undefined: there is none
   */
  join(joining: Joining, nowMs: number, join: (joined: Joined) => void): string | undefined {
    const { memberId, instanceId, needsId } = joining
    const refuse = (errorCode: number): undefined => void join({ errorCode, memberId })
    if (!fits(joining, this)) return refuse(ERROR.INCONSISTENT_GROUP_PROTOCOL)
    const ofInstance = this.#ofInstance(instanceId)
    if (ofInstance !== undefined && memberId !== "" && ofInstance.memberId !== memberId)
      return refuse(ERROR.FENCED_INSTANCE_ID)
    if (ofInstance !== undefined && memberId === "") return this.#replace(ofInstance, joining, nowMs, join)
    const known = this.members.get(memberId)
    if (known !== undefined) return void this.#rejoin(known, joining, nowMs, join)
    if (memberId !== "" && !this.pendingIds.delete(memberId)) return refuse(ERROR.UNKNOWN_MEMBER_ID)
    const id = memberId === "" ? newMemberId(joining) : memberId
    if (memberId === "" && instanceId === null && needsId) {
      this.pendingIds.set(id, nowMs + joining.sessionTimeoutMs)
      join({ errorCode: ERROR.MEMBER_ID_REQUIRED, memberId: id })
      return id
    }
    const member = newMember(joining, id, nowMs)
    member.joining = join
    if (this.members.size === 0) this.protocolType = joining.protocolType
    this.members.set(id, member)
    this.#prepare(nowMs)
    return id
  }

  /** @param sync answered now, or once the leader has assigned */
  sync(
    memberId: string,
    instanceId: string | null,
    generation: number,
    assignments: readonly { readonly memberId: string; readonly assignment: Uint8Array }[],
    nowMs: number,
    sync: (synced: Synced) => void,
  ): void {
    const errorCode = this.check(memberId, instanceId, generation)
    if (errorCode !== ERROR.NONE) return sync({ errorCode })
    const member = this.members.get(memberId)!
    this.heard(member, nowMs)
    if (this.state === "PreparingRebalance") return sync({ errorCode: ERROR.REBALANCE_IN_PROGRESS })
    if (this.state === "Stable") return sync({ errorCode: ERROR.NONE, assignment: member.assignment })
    member.syncing?.({ errorCode: ERROR.REBALANCE_IN_PROGRESS })
    member.syncing = sync
    if (memberId !== this.#leader) return
    for (const one of this.members.values()) one.assignment = NO_ASSIGNMENT
    for (const { memberId: id, assignment } of assignments) {
      const one = this.members.get(id)
      // a copy: the frame that it is a view of is large
      if (one !== undefined) one.assignment = new Uint8Array(assignment)
    }
    this.#setState("Stable", Number.POSITIVE_INFINITY)
    this.wasStable = true
    this.#changed()
    for (const one of this.members.values()) {
      one.syncing?.({ errorCode: ERROR.NONE, assignment: one.assignment })
      one.syncing = undefined
      this.heard(one, nowMs)
    }
  }

  /** @returns an error code */
  heartbeat(memberId: string, instanceId: string | null, generation: number, nowMs: number): number {
    const errorCode = this.check(memberId, instanceId, generation)
    if (errorCode !== ERROR.NONE) return errorCode
    this.heard(this.members.get(memberId)!, nowMs)
    return this.state === "PreparingRebalance" ? ERROR.REBALANCE_IN_PROGRESS : ERROR.NONE
  }

  /** @param memberId may be empty for a static member. @returns an error code */
  leave(memberId: string, instanceId: string | null, nowMs: number): number {
    const ofInstance = this.#ofInstance(instanceId)
    if (ofInstance !== undefined && memberId !== "" && ofInstance.memberId !== memberId)
      return ERROR.FENCED_INSTANCE_ID
    const member = ofInstance ?? this.members.get(memberId)
    if (member === undefined) return this.pendingIds.delete(memberId) ? ERROR.NONE : ERROR.UNKNOWN_MEMBER_ID
    this.#remove([member], nowMs)
    return ERROR.NONE
  }

  /** Removes members that are gone, and takes back ids that were given out. */
  abandon(memberIds: Iterable<string>, nowMs: number): void {
    const gone = [...memberIds].flatMap((id) => this.members.get(id) ?? [])
    for (const id of memberIds) this.pendingIds.delete(id)
    if (gone.length > 0) this.#remove(gone, nowMs)
  }

  /** Whether a request may come from this member of this generation: an error code. */
  check(memberId: string, instanceId: string | null, generation: number): number {
    const ofInstance = this.#ofInstance(instanceId)
    if (ofInstance !== undefined && ofInstance.memberId !== memberId) return ERROR.FENCED_INSTANCE_ID
    if (!this.members.has(memberId)) return ERROR.UNKNOWN_MEMBER_ID
    return generation === this.generation ? ERROR.NONE : ERROR.ILLEGAL_GENERATION
  }

  heard(member: Member, nowMs: number): void {
    member.expiresMs = nowMs + member.sessionTimeoutMs
  }

  /** Removes members that are gone, and ends states that took too long. */
  tick(nowMs: number): void {
    for (const [id, untilMs] of this.pendingIds) if (untilMs <= nowMs) this.pendingIds.delete(id)
    // a member that waits for others is not gone
    const isGone = ({ expiresMs, joining, syncing }: Member): boolean =>
      expiresMs <= nowMs && joining === undefined && syncing === undefined
    const gone = [...this.members.values()].filter(isGone)
    if (gone.length > 0) this.#remove(gone, nowMs)
    if (this.#untilMs > nowMs) return
    if (this.state === "PreparingRebalance") {
      const late = ({ joining, instanceId }: Member): boolean => joining === undefined && instanceId === null
      for (const member of [...this.members.values()].filter(late)) this.members.delete(member.memberId)
      this.#beginGeneration(nowMs)
    } else if (this.state === "CompletingRebalance") {
      const late = [...this.members.values()].filter(({ syncing }) => syncing === undefined)
      this.#remove(late, nowMs)
    }
  }

  /** Whether time changes anything. */
  get isActive(): boolean {
    return this.members.size > 0 || this.pendingIds.size > 0
  }

  snapshot(): GroupSnapshot {
    const { generation, protocolType, protocol, changedMs } = this
    const members = this.state === "Stable" ? [...this.members.values()].map(kept) : []
    return { generation, protocolType, protocol, changedMs, leader: this.#leader, members }
  }

  restore({ leader, members, ...kept }: GroupSnapshot, nowMs: number): void {
    Object.assign(this, kept)
    this.wasStable = true
    this.#leader = leader
    for (const one of members) {
      const member = newMember(one, one.memberId, nowMs)
      member.assignment = one.assignment
      this.members.set(one.memberId, member)
    }
    if (members.length > 0) this.state = "Stable"
  }

  #setState(state: GroupState, untilMs: number): void {
    this.state = state
    this.#untilMs = untilMs
  }

  #rejoin(member: Member, joining: Joining, nowMs: number, join: (joined: Joined) => void): void {
    const isChanged = !isSame(member.protocols, joining.protocols)
    const { sessionTimeoutMs, rebalanceTimeoutMs, protocols } = joining
    Object.assign(member, { sessionTimeoutMs, rebalanceTimeoutMs, protocols })
    this.heard(member, nowMs)
    const isLeader = member.memberId === this.#leader
    // the answer of before was lost
    if (this.state === "CompletingRebalance" && !isChanged) return join(this.#joined(member))
    if (this.state === "Stable" && !isChanged && !isLeader) return join(this.#joined(member))
    member.joining?.({ errorCode: ERROR.UNKNOWN_MEMBER_ID, memberId: member.memberId })
    member.joining = join
    this.#prepare(nowMs)
  }

  /** A static member that was started again takes the place of what it was before. */
  #replace(before: Member, joining: Joining, nowMs: number, join: (joined: Joined) => void): string {
    const memberId = newMemberId(joining)
    before.joining?.({ errorCode: ERROR.FENCED_INSTANCE_ID, memberId: before.memberId })
    before.syncing?.({ errorCode: ERROR.FENCED_INSTANCE_ID })
    const member = newMember(joining, memberId, nowMs)
    member.assignment = before.assignment
    this.members.delete(before.memberId)
    this.members.set(memberId, member)
    const wasLeader = this.#leader === before.memberId
    if (wasLeader) this.#leader = memberId
    if (this.state === "Stable" && isSame(before.protocols, joining.protocols)) {
      this.#changed()
      // a leader would assign anew: it gets the id from before
      const joined = this.#joined(member)
      join(wasLeader ? { ...joined, leader: before.memberId, members: [] } : joined)
      return memberId
    }
    member.joining = join
    this.#prepare(nowMs)
    return memberId
  }

  #remove(gone: readonly Member[], nowMs: number): void {
    for (const { memberId, joining, syncing } of gone) {
      this.members.delete(memberId)
      joining?.({ errorCode: ERROR.UNKNOWN_MEMBER_ID, memberId })
      syncing?.({ errorCode: ERROR.UNKNOWN_MEMBER_ID })
    }
    this.#prepare(nowMs)
  }

  #prepare(nowMs: number): void {
    if (this.state !== "PreparingRebalance") {
      for (const member of this.members.values()) {
        member.syncing?.({ errorCode: ERROR.REBALANCE_IN_PROGRESS })
        member.syncing = undefined
        this.heard(member, nowMs)
      }
      const timeouts = [...this.members.values()].map(({ rebalanceTimeoutMs }) => rebalanceTimeoutMs)
      this.#setState("PreparingRebalance", nowMs + Math.max(0, ...timeouts))
    }
    if ([...this.members.values()].every(({ joining }) => joining !== undefined)) this.#beginGeneration(nowMs)
  }

  #beginGeneration(nowMs: number): void {
    this.generation++
    const members = [...this.members.values()]
    if (members.length === 0) {
      this.#leader = ""
      this.protocol = ""
      this.#setState("Empty", Number.POSITIVE_INFINITY)
      return this.#changed()
    }
    this.protocol = chosen(members)
    const isThere = this.members.get(this.#leader)?.joining !== undefined
    if (!isThere)
      this.#leader = (members.find(({ joining }) => joining !== undefined) ?? members[0]!).memberId
    const timeouts = members.map(({ rebalanceTimeoutMs }) => rebalanceTimeoutMs)
    this.#setState("CompletingRebalance", nowMs + Math.max(...timeouts))
    this.#changed()
    for (const member of members) {
      const { joining } = member
      member.joining = undefined
      this.heard(member, nowMs)
      joining?.(this.#joined(member))
    }
  }

  #joined(member: Member): Joined {
    return joinedAs(member, { ...this, leader: this.#leader })
  }

  #ofInstance(instanceId: string | null): Member | undefined {
    if (instanceId === null) return undefined
    return [...this.members.values()].find((one) => one.instanceId === instanceId)
  }
}
