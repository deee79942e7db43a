import { steadyMs } from "../../clock/clock.ts"
import { continuedFrom, type MachineTime } from "../../clock/machine-clock.ts"
import { LIMITS } from "../limits.ts"
import type { CommittedOffset, GroupChanges } from "../log.ts"
import { Group } from "./group.ts"
import { ANYBODY, groupBytes, offsetBytes } from "./memory.ts"
import { UnsettledGroups } from "./unsettled.ts"

/** By topic and partition. */
type CommittedOffsets = Map<string, Map<number, CommittedOffset>>

const MAX_GROUPS = 10_000

const TICK_MS = 100
/** As Kafka's offsets.retention.minutes and offsets.retention.check.interval.ms. */
const RETENTION_MS = 7 * 24 * 3_600_000
const EXPIRE_MS = 600_000

/** The log whose groups are loaded. */
export interface LoadedLog {
  readonly clusterId: string
  /** Infinity: any offset is. */
  readonly lastCommittable: (
    topic: string,
    partition: number,
    epoch: number,
  ) => Pick<CommittedOffset, "offset" | "leaderEpoch">
}

/** A committed offset that is beyond the records that the log had when an earlier copy replaced it. */
export interface SetBack {
  readonly group: string
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number
}

export interface GroupsLoaded {
  /** The file had groups of another log, which are deleted. */
  readonly isOfAnotherLog: boolean
  readonly setBack: readonly SetBack[]
}

export interface GroupsDependencies {
  /** Has changes written; `written` reports the end of it. */
  readonly write: (changes: GroupChanges) => void
  /** Groups were deleted for their age. */
  readonly expired: (groups: readonly string[]) => void
  readonly machine?: MachineTime
}

/**
 * The consumer groups with their offsets. They are in memory; a change is written to groups.sqlite, in the event loop's
 * charge, one write at a time, which has all changes that came during the one before.
 */
export class Groups {
  readonly #groups = new Map<string, Group>()
  readonly #offsets = new Map<string, CommittedOffsets>()
  #offsetBytes = 0
  readonly #offsetBytesOf = new Map<string, number>()
  /** Those that may end with a connection. */
  readonly unsettled = new UnsettledGroups((group) => {
    if (!group.isActive && !this.#offsets.has(group.id)) void this.delete(group.id)
  })
  readonly #write: (changes: GroupChanges) => void
  readonly #expired: (groups: readonly string[]) => void
  readonly #machine: MachineTime | undefined
  /** The clock of what is stored, once that is loaded. */
  #now: () => number = Date.now
  /** To be written. */
  #groupChanges = new Map<string, GroupChanges["groups"][number]>()
  #offsetChanges: GroupChanges["offsets"][number][] = []
  #waiting: ((isWritten: boolean) => void)[] = []
  /** Those whose changes are being written. */
  #writing: ((isWritten: boolean) => void)[] | undefined
  /** The log's cluster id, until it is in the file. */
  #clusterId: string | undefined
  isLoaded = false

  constructor({ write, expired, machine }: GroupsDependencies) {
    this.#write = write
    this.#expired = expired
    this.#machine = machine
    setInterval(() => this.#tick(), TICK_MS)
    setInterval(() => void this.expire(), EXPIRE_MS)
  }

  /**
   * @param clusterId of the log: what the file has of another one is deleted
   * @param lastCommittable as LogView's: offsets beyond it are set back, and all members have to join again, since they may
   *   have read further than they committed
   */
  load(
    { clusterId: before, clock, groups, offsets }: GroupChanges,
    { clusterId, lastCommittable }: LoadedLog,
  ): GroupsLoaded {
    if (this.isLoaded) return { isOfAnotherLog: false, setBack: [] }
    this.isLoaded = true
    if (clock !== undefined) this.#now = continuedFrom(clock, this.#machine)
    if (before !== clusterId) {
      this.#clusterId = clusterId
      void this.#flush()
    }
    if (before !== undefined && before !== clusterId)
      return { isOfAnotherLog: groups.length > 0 || offsets.length > 0, setBack: [] }
    const nowMs = steadyMs()
    const setBack: SetBack[] = []
    const changes = offsets.map((change): GroupChanges["offsets"][number] => {
      const [group, topic, partition, committed] = change
      const { offset: from = 0, leaderEpoch = 0 } = committed ?? {}
      const last = lastCommittable(topic, partition, leaderEpoch)
      if (committed === undefined || from <= last.offset) return change
      setBack.push({ group, topic, partition, from, to: last.offset })
      return [group, topic, partition, { ...committed, ...last }]
    })
    const hasCopy = setBack.length > 0
    for (const [id, state] of groups)
      if (state !== undefined) this.#make(id).restore(hasCopy ? { ...state, members: [] } : state, nowMs)
    for (const change of changes) this.#apply(change)
    if (hasCopy) void this.commit(changes)
    return { isOfAnotherLog: false, setBack }
  }

  all(): Iterable<Group> {
    return this.#groups.values()
  }

  find(id: string): Group | undefined {
    return this.#groups.get(id)
  }

  /** undefined: there are too many, or the user has its share of them. */
  findOrMake(id: string, by = ANYBODY): Group | undefined {
    let group = this.#groups.get(id)
    if (group === undefined) {
      const own = [...this.#groups.values()].filter(({ owner }) => owner === by.user).length
      const isMany = this.#groups.size >= MAX_GROUPS || own >= MAX_GROUPS / by.users
      if (isMany || !this.hasRoom(id.length, by)) return undefined
      group = this.#make(id)
    }
    group.owner ??= by.user
    return group
  }

  /** Whether groups and members, those of the user's groups among them, may take this many more bytes. */
  hasRoom(bytes: number, { user, users } = ANYBODY): boolean {
    let left = LIMITS.groupBytes - bytes
    let own = LIMITS.groupBytes / users - bytes
    for (const group of this.#groups.values()) {
      const taken = groupBytes(group)
      left -= taken
      if (group.owner === user) own -= taken
    }
    return left >= 0 && own >= 0
  }

  offset(groupId: string, topic: string, partition: number): CommittedOffset | undefined {
    return this.#offsets.get(groupId)?.get(topic)?.get(partition)
  }

  /** The partitions that a group has committed offsets of. */
  partitions(groupId: string): [topic: string, partitions: number[]][] {
    return [...(this.#offsets.get(groupId) ?? [])].map(([topic, of]) => [topic, [...of.keys()]])
  }

  /** Whether offsets may be kept: those that take the place of others of their size always. */
  hasRoomFor(changes: GroupChanges["offsets"], { user, users } = ANYBODY): boolean {
    let more = 0
    for (const [id, topic, partition, committed] of changes)
      more += offsetBytes(committed) - offsetBytes(this.offset(id, topic, partition))
    const [all, share] = [this.#offsetBytes + more, LIMITS.offsetBytes / users]
    if (more <= 0 || all <= share) return true
    let own = more
    for (const [id, bytes] of this.#offsetBytesOf) if (this.#groups.get(id)?.owner === user) own += bytes
    return all <= LIMITS.offsetBytes && own <= share
  }

  /** Commits offsets, or deletes them. Resolves with whether they are durable; if not, nothing has changed. */
  async commit(changes: GroupChanges["offsets"]): Promise<boolean> {
    for (const change of changes) {
      const [id] = change
      const group = this.#groups.get(id)
      // so that the group exists after a restart, and as young
      if (group !== undefined && (group.members.size === 0 || !this.#offsets.has(id))) this.#changed(group)
      this.#offsetChanges.push(change)
    }
    const isWritten = await this.#flush()
    if (isWritten) for (const change of changes) this.#apply(change)
    return isWritten
  }

  /** Deletes a group with its offsets. Resolves as `commit`. */
  async delete(id: string): Promise<boolean> {
    this.#groupChanges.set(id, [id, undefined])
    for (const [topic, partitions] of this.partitions(id))
      for (const partition of partitions) this.#offsetChanges.push([id, topic, partition, undefined])
    const isWritten = await this.#flush()
    if (!isWritten) return false
    for (const [topic, partitions] of this.partitions(id))
      for (const partition of partitions) this.#apply([id, topic, partition, undefined])
    this.#groups.delete(id)
    this.#offsets.delete(id)
    return true
  }

  /** Deletes the groups that have had no member, and no commit, for a week by the clock of what is stored. */
  async expire(): Promise<void> {
    const untilMs = this.#now() - RETENTION_MS
    const isOver = ({ members, changedMs }: Group): boolean => members.size === 0 && changedMs <= untilMs
    const over = [...this.#groups.values()].filter(isOver).map(({ id }) => id)
    const deleted = await Promise.all(over.map((id) => this.delete(id)))
    const expired = over.filter((_, at) => deleted[at])
    if (expired.length > 0) this.#expired(expired)
  }

  /** The changes that were being written are, or could not be. */
  written(isWritten: boolean): void {
    const written = this.#writing ?? []
    this.#writing = undefined
    if (isWritten) this.#clusterId = undefined
    for (const one of written) one(isWritten)
    if (this.#waiting.length > 0) this.#writeNext()
  }

  #flush(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#waiting.push(resolve)
    if (this.#writing === undefined) this.#writeNext()
    return promise
  }

  #writeNext(): void {
    this.#writing = this.#waiting
    this.#waiting = []
    const changes = {
      ...(this.#clusterId !== undefined && { clusterId: this.#clusterId }),
      groups: [...this.#groupChanges.values()],
      offsets: this.#offsetChanges,
    }
    this.#groupChanges = new Map()
    this.#offsetChanges = []
    this.#write(changes)
  }

  #make(id: string): Group {
    const group: Group = new Group(id, () => {
      this.#changed(group)
      void this.#flush()
    })
    group.changedMs = this.#now()
    this.#groups.set(id, group)
    return group
  }

  #changed(group: Group): void {
    group.changedMs = this.#now()
    this.#groupChanges.set(group.id, [group.id, group.snapshot()])
  }

  #apply([id, topic, partition, committed]: GroupChanges["offsets"][number]): void {
    const offsets: CommittedOffsets = this.#offsets.get(id) ?? new Map()
    const ofTopic = offsets.get(topic) ?? new Map<number, CommittedOffset>()
    const more = offsetBytes(committed) - offsetBytes(ofTopic.get(partition))
    this.#offsetBytes += more
    const bytes = (this.#offsetBytesOf.get(id) ?? 0) + more
    if (bytes > 0) this.#offsetBytesOf.set(id, bytes)
    else this.#offsetBytesOf.delete(id)
    if (committed === undefined) ofTopic.delete(partition)
    else ofTopic.set(partition, committed)
    if (ofTopic.size === 0) offsets.delete(topic)
    else offsets.set(topic, ofTopic)
    if (offsets.size === 0) this.#offsets.delete(id)
    else this.#offsets.set(id, offsets)
  }

  #tick(): void {
    const nowMs = steadyMs()
    for (const [id, group] of this.#groups) {
      if (group.isActive) group.tick(nowMs)
      // nobody has ever joined
      else if (group.generation === 0 && this.#writing === undefined && !this.#offsets.has(id))
        this.#groups.delete(id)
    }
  }
}
