import type { LogReader, OffsetRange } from "../brokers/broker.ts"
import { disagreement, type Epoch, type LogIdentity, type PartitionEpochs } from "../brokers/log-place.ts"
import type { ReplayPosition } from "./progress.ts"

/** The epochs of a topic's partitions, as long as it is read. */
export class TopicEpochs {
  readonly #reader: LogReader
  readonly #topic: string
  readonly #partitions = new Map<number, PartitionEpochs>()

  constructor(reader: LogReader, topic: string) {
    this.#reader = reader
    this.#topic = topic
  }

  /** undefined: the log has none. */
  of(partition: number): PartitionEpochs | undefined {
    if (this.#reader.epochs === undefined) return undefined
    return this.#partitions.getOrInsertComputed(partition, () => this.#reader.epochs!(this.#topic, partition))
  }

  /** A position with the epochs of the records before it. */
  with(position: ReplayPosition): ReplayPosition {
    const epochs = new Map<number, Epoch>()
    for (const [partition, offset] of position.next) {
      const epoch = this.of(partition)?.before(offset)
      if (epoch !== undefined) epochs.set(partition, epoch)
    }
    return { ...position, epochs }
  }
}

/** A partition whose position the log does not have. */
interface SetBack {
  readonly partition: number
  readonly from: number
  readonly to: number
}

export type Agreed =
  | { readonly kind: "another log" | "another topic" }
  | { readonly kind: "agreed"; readonly position: ReplayPosition; readonly setBack: readonly SetBack[] }

/** Compares a stored position with the log, and sets it back to where they agree. @param held what the topic holds */
export function agreeWith(
  epochs: TopicEpochs,
  held: readonly OffsetRange[],
  stored: { readonly about: LogIdentity; readonly position: ReplayPosition },
  now: LogIdentity,
): Agreed {
  const { about, position } = stored
  const next = new Map(position.next)
  const setBack: SetBack[] = []
  for (const { partition, end } of held) {
    const offset = next.get(partition) ?? 0
    const place = { ...about, offset, epoch: position.epochs?.get(partition) }
    const found = disagreement(place, { ...now, end, epochs: epochs.of(partition) })
    if (found === undefined) continue
    if (found.kind !== "an earlier copy") return { kind: found.kind }
    // where it is not known, follow.ts says so
    if (found.offset === undefined) continue
    setBack.push({ partition, from: offset, to: found.offset })
    next.set(partition, found.offset)
  }
  return { kind: "agreed", position: { ...position, next }, setBack }
}

export const describeSetBack = (topic: string, all: readonly SetBack[]): string =>
  `an earlier copy of the log is in its place: forwarding ${all
    .map(({ partition, from, to }) => `${topic}[${partition}] from offset ${to} instead of ${from}`)
    .join(", ")} on, where the copy agrees with what was forwarded; failures after that are removed`
