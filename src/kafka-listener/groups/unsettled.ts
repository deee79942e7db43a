import { steadyMs } from "../../clock/clock.ts"
import type { Group } from "./group.ts"

/** How many groups that never were stable a connection may join. */
const MOST_OF_CONNECTION = 100

/**
 * The groups that connections have joined and that never were stable: of these the members end with their connection, since
 * a session may last for half an hour.
 */
export class UnsettledGroups {
  /** The ids of members in each group, by the signal of the connection's end. */
  readonly #byConnection = new WeakMap<AbortSignal, Map<Group, Set<string>>>()
  readonly #left: (group: Group) => void

  /** @param left called with a group that members have left so */
  constructor(left: (group: Group) => void) {
    this.#left = left
  }

  /** Whether a connection may join another such group. */
  hasRoom(signal: AbortSignal): boolean {
    const groups = this.#byConnection.get(signal)
    if (groups === undefined || groups.size < MOST_OF_CONNECTION) return true
    for (const group of groups.keys())
      if (group.wasStable || (group.members.size === 0 && group.pendingIds.size === 0)) groups.delete(group)
    return groups.size < MOST_OF_CONNECTION
  }

  /** A member joined, or got its id. */
  add(group: Group, memberId: string, signal: AbortSignal): void {
    let groups = this.#byConnection.get(signal)
    if (groups === undefined) {
      this.#byConnection.set(signal, (groups = new Map()))
      signal.addEventListener("abort", () => this.#end(signal), { once: true })
    }
    groups.getOrInsertComputed(group, () => new Set()).add(memberId)
  }

  #end(signal: AbortSignal): void {
    for (const [group, ids] of this.#byConnection.get(signal)!) {
      if (group.wasStable) continue
      group.abandon(ids, steadyMs())
      this.#left(group)
    }
    this.#byConnection.delete(signal)
  }
}
