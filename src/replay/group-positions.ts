import type { GroupAssigned, ReadGroup } from "../brokers/broker.ts"
import type { ForwardAbout } from "./forward.ts"
import type { PositionFile, PositionStore, Stored } from "./position-tables.ts"
import type { ReplayFailure, ReplayPosition } from "./progress.ts"

/**
 * The position of a member of a group: the broker has its offsets, for whichever member gets the partition next; a file has
 * the rest, of this process: refused records and counts. Where the group has committed nothing yet, the file's offset counts.
 */
export class GroupPositions implements PositionStore<ForwardAbout> {
  readonly #file: PositionFile<ForwardAbout>
  readonly #group: ReadGroup
  readonly #about: ForwardAbout
  /** What the broker has, by partition of this member. */
  readonly #committed: Map<number, number | undefined>

  constructor(
    file: PositionFile<ForwardAbout>,
    group: ReadGroup,
    about: ForwardAbout,
    assigned: GroupAssigned["next"],
  ) {
    this.#file = file
    this.#group = group
    this.#about = about
    this.#committed = new Map(assigned)
  }

  async read(): Promise<Stored<ForwardAbout> | undefined> {
    const stored = await this.#file.read()
    const all = [...this.#committed]
    const committed = all.flatMap(([partition, next]) =>
      next === undefined ? [] : [[partition, next] as const],
    )
    if (committed.length === 0 && stored === undefined) return undefined
    const known = [...(stored?.position.next ?? [])].filter(([partition]) => this.#committed.has(partition))
    const { replayed = 0, failed = 0 } = stored?.position ?? {}
    const position = { next: new Map([...known, ...committed]), replayed, failed }
    if (stored === undefined) await this.#file.begin(this.#about, position)
    return { about: stored?.about ?? this.#about, position }
  }

  async begin(about: ForwardAbout, position: ReplayPosition): Promise<void> {
    // the broker's offsets may be of the former topic: they are reset before the file names the new one
    const former = [...this.#committed].flatMap(([partition, at]) => (at === undefined ? [] : [partition]))
    const next = new Map([...former.map((partition) => [partition, 0] as const), ...position.next])
    await this.#commit({ next })
    await this.#file.begin(about, position)
  }

  describe(about: ForwardAbout): Promise<void> | void {
    return this.#file.describe(about)
  }

  async save(position: ReplayPosition, failures: readonly ReplayFailure[]): Promise<void> {
    // the file first, so that no refused record is passed without being listed
    await this.#file.save(position, failures)
    await this.#commit(position)
  }

  async setBack(position: ReplayPosition): Promise<void> {
    await this.#file.setBack(position)
    await this.#commit(position)
  }

  setWaiting(reason: string | undefined): Promise<void> | void {
    return this.#file.setWaiting(reason)
  }

  /** Whether the group is paused; the file has a copy for `hookline forward list`. */
  async isPaused(): Promise<boolean> {
    const isPaused = await this.#group.isPaused()
    if (isPaused !== (await this.#file.isPaused())) await this.#file.setPaused(isPaused)
    return isPaused
  }

  async #commit({ next }: Pick<ReplayPosition, "next">): Promise<void> {
    const changed = new Map([...next].filter(([partition, at]) => this.#committed.get(partition) !== at))
    await this.#group.commit(changed)
    for (const [partition, at] of changed) this.#committed.set(partition, at)
  }
}
