import { ProducerState, type Judgement } from "./producer-state.ts"
import type { RecordBatch } from "./record-batches.ts"

/** A batch in a log. Replicas share it: the same entry is the same bytes at the same offset. */
export interface Entry {
  readonly baseOffset: number
  readonly leaderEpoch: number
  readonly batch: RecordBatch
}

/** A partition's log on one broker. What a broker keeps on disk survives its crash: the log and the high watermark. */
export class ReplicaLog {
  entries: Entry[] = []
  highWatermark = 0
  readonly #producers: ProducerState

  constructor(isStrict: boolean) {
    this.#producers = new ProducerState(isStrict)
  }

  get endOffset(): number {
    const last = this.entries.at(-1)
    return last === undefined ? 0 : last.baseOffset + last.batch.records.length
  }

  judge(batch: RecordBatch): Judgement {
    return this.#producers.judge(batch)
  }

  append(entry: Entry): void {
    this.entries.push(entry)
    this.#producers.appended(entry.batch, entry.baseOffset)
  }

  /** Makes it what the leader's is: drops what that does not have, adds what it lacks. */
  follow(leader: ReplicaLog): void {
    const theirs = leader.entries
    let same = Math.min(this.entries.length, theirs.length)
    while (same > 0 && this.entries[same - 1] !== theirs[same - 1]) same--
    if (same < this.entries.length) this.#truncate(same)
    for (let at = same; at < theirs.length; at++) this.append(theirs[at]!)
    this.highWatermark = Math.min(leader.highWatermark, this.endOffset)
  }

  /** As of producers that were idle for producer.id.expiration.ms. */
  forgetProducers(): void {
    this.#producers.clear()
  }

  /** Brokers rebuild what they know of producers from the log. */
  #truncate(count: number): void {
    this.entries.length = count
    this.#producers.clear()
    for (const { batch, baseOffset } of this.entries) this.#producers.appended(batch, baseOffset)
  }
}
