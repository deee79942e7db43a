import { RecentIds } from "./recent-ids.ts"

/** The other processes that share the load, as what remembers ids has to know of them. */
export interface Peers {
  /** Joins those of one name: what each of them tells, the others hear, soon and without an answer. */
  readonly join: (name: string, hear: (id: string, untilMs: number) => void) => Joined
}

export interface Joined {
  readonly tell: (id: string, untilMs: number) => void
  readonly leave: () => void
}

/** Ids that all processes of one Hookline remember together. */
export interface SharedIds {
  has(id: string): boolean
  /**
   * The other processes know it soon.
   *
   * @returns whether another one had to be forgotten early for it
   */
  remember(id: string, untilMs: number): boolean
  close(): void
}

/**
 * Opens a memory of ids, as recent-ids.ts has it. With others each process has a memory of its own, and tells what it
 * remembers: one that is started anew hears what is remembered from then on.
 */
export function openRecentIds(
  options: { most: number; now: () => number },
  shared?: { peers: Peers; name: string },
): SharedIds {
  const ids = new RecentIds(options)
  const hear = (id: string, untilMs: number): void => void ids.remember(id, untilMs)
  const joined = shared?.peers.join(shared.name, hear)
  return {
    has: (id) => ids.has(id),
    remember(id, untilMs) {
      joined?.tell(id, untilMs)
      return ids.remember(id, untilMs)
    },
    close: () => joined?.leave(),
  }
}
