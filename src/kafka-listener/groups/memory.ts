import type { CommittedOffset } from "../log.ts"
import type { Group } from "./group.ts"
import { memberBytes, MEMBER_BYTES } from "./member.ts"

/** What a group without members counts for. */
const GROUP_BYTES = 512

/** What a group takes in memory, about. */
export function groupBytes({ id, protocolType, pendingIds, members }: Group): number {
  let bytes = GROUP_BYTES + id.length + protocolType.length
  for (const pending of pendingIds.keys()) bytes += MEMBER_BYTES + pending.length
  for (const member of members.values()) bytes += memberBytes(member)
  return bytes
}

/** Who uses groups, and among how many users they are shared: each may make as many, and take as much memory. */
export interface GroupUser {
  /** undefined: nobody authenticates. */
  readonly user: string | undefined
  readonly users: number
}

export const ANYBODY: GroupUser = { user: undefined, users: 1 }

/** What a committed offset takes in memory, about. */
export const offsetBytes = (committed: CommittedOffset | undefined): number =>
  committed === undefined ? 0 : 256 + committed.metadata.length
