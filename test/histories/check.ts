import { Column } from "./column.ts"
import type { Delivery, Op } from "./history.ts"

/**
 * The anomalies of Jepsen's Kafka workload
 * (https://github.com/jepsen-io/jepsen/blob/main/jepsen/src/jepsen/tests/kafka.clj) that there can be without transactions,
 * and what a webhook's sender may expect beyond.
 */
export const ANOMALIES = {
  "lost-write": "an acknowledged event is not in the log",
  unseen: "a record in the log never came to the reader that ran all the time",
  "aborted-read": "an event that was refused for good is in the log",
  duplicate:
    "an event is in the log more often than it was posted without a refusal for good; with a Deduplicator, than before its acknowledgement",
  "inconsistent-offsets": "two readers, or a reader and Hookline, disagree on what an offset holds",
  "unwritten-read": "a record is none of the events that were posted, or has another key",
  "poll-skip": "a reader was not given an offset between two polls",
  "int-poll-skip": "the same within a poll",
  "nonmonotonic-poll": "a reader was given an offset again, or an earlier one, between two polls",
  "int-nonmonotonic-poll": "the same within a poll",
  "nonmonotonic-send": "an event lies behind one of its key that was posted after its acknowledgement",
} as const

export type AnomalyKind = keyof typeof ANOMALIES

export interface Anomaly {
  readonly kind: AnomalyKind
  readonly topic: string
  readonly partition?: number
  readonly offset?: number
  /** The event's number; -1: of no event. */
  readonly n: number
  readonly detail: string
}

export interface Verdict {
  readonly counts: { readonly [kind in AnomalyKind]: number }
  /** The first of each kind. */
  readonly examples: readonly Anomaly[]
  /** Different events that were posted, acknowledged, and found in the log. */
  readonly sent: number
  readonly acknowledged: number
  readonly found: number
  readonly refused: number
  /** Events whose outcome their sender never learned. */
  readonly unknown: number
  /** Requests, those that repeat an event too. */
  readonly posts: number
  /** Records beyond the first of their event, as documented: after a request of unknown outcome, and by spools. */
  readonly repeats: { readonly unknown: number; readonly spooled: number }
  /** Records that the reader which ran all the time was given. */
  readonly polled: number
  readonly faults: { readonly [kind: string]: number }
}

const EXAMPLES = 10
const [NONE, SEVERAL] = [-1, -2]
const [CONTINUOUS, FINAL] = [1, 2]

/** A partition's log as its readers saw it, by offset. */
interface PartitionLog {
  readonly topic: string
  readonly partition: number
  readonly numbers: Column
  /** Who was given it: CONTINUOUS, FINAL or both. */
  readonly readers: Column
  readonly next: { continuous: number; final: number }
}

/** Checks a history in one pass, with some fifty bytes an event. */
export class HistoryChecker {
  readonly #topics: string[] = []
  readonly #deliveries: Delivery[] = []
  readonly #keys = new Map<string, number>()
  readonly #logs = new Map<string, PartitionLog>()
  readonly #faults: { [kind: string]: number } = {}
  readonly #counts = Object.fromEntries(Object.keys(ANOMALIES).map((kind) => [kind, 0])) as {
    [kind in AnomalyKind]: number
  }
  readonly #examples: Anomaly[] = []
  // By event number; times are places in the history.
  readonly #topic = new Column(NONE)
  readonly #key = new Column(NONE)
  readonly #invoked = new Column(NONE)
  readonly #acknowledged = new Column(NONE)
  readonly #mayBeStored = new Column(0)
  readonly #copies = new Column(0)
  readonly #home = new Column(NONE)
  #place = 0
  #posts = 0
  #polled = 0

  add(op: Op): void {
    this.#place += 1
    switch (op.f) {
      case "run":
        for (const [topic, delivery] of Object.entries(op.topics)) {
          this.#topics.push(topic)
          this.#deliveries.push(delivery)
        }
        return
      case "send":
        return this.#send(op)
      case "receipt":
        return this.#receipt(op)
      case "assign":
        this.#log(op.topic, op.partition).next[op.reader] = op.offset
        return
      case "poll":
        return this.#poll(op)
      case "fault":
        if (op.type === "begin") this.#faults[op.kind] = (this.#faults[op.kind] ?? 0) + 1
    }
  }

  /** To be called once. */
  finish(): Verdict {
    for (const log of this.#logs.values()) this.#count(log)
    for (const log of this.#logs.values()) this.#order(log)
    const repeats = { unknown: 0, spooled: 0 }
    const totals = { sent: 0, acknowledged: 0, found: 0, refused: 0, unknown: 0 }
    for (let n = 0; n < this.#topic.length; n++) {
      if (this.#topic.get(n) === NONE) continue
      const copies = this.#copies.get(n)
      const isAcknowledged = this.#acknowledged.get(n) !== NONE
      const mayBeStored = this.#mayBeStored.get(n)
      totals.sent += 1
      totals.acknowledged += isAcknowledged ? 1 : 0
      totals.found += copies > 0 ? 1 : 0
      totals.refused += mayBeStored === 0 ? 1 : 0
      totals.unknown += !isAcknowledged && mayBeStored > 0 ? 1 : 0
      const isSpooled = this.#delivery(n) === "spooled"
      if (isAcknowledged && copies === 0) this.#found("lost-write", n, "acknowledged, and not in the log")
      if (mayBeStored === 0 && copies > 0)
        this.#found("aborted-read", n, `refused, and ${copies} times in the log`)
      else if (copies > mayBeStored && !isSpooled)
        this.#found(
          "duplicate",
          n,
          `${copies} times in the log, posted ${mayBeStored} times with an outcome that allows it`,
        )
      repeats[isSpooled ? "spooled" : "unknown"] += Math.max(0, copies - 1)
    }
    return {
      counts: this.#counts,
      examples: this.#examples,
      ...totals,
      posts: this.#posts,
      repeats,
      polled: this.#polled,
      faults: this.#faults,
    }
  }

  #send(op: Extract<Op, { f: "send" }>): void {
    const { n } = op
    const isFirst = this.#acknowledged.get(n) === NONE
    // What the Deduplicator is given after an acknowledgement is not to be stored.
    const mayStore = isFirst || this.#delivery(n) !== "deduplicated"
    if (op.type === "invoke") {
      this.#posts += 1
      if (this.#topic.get(n) === NONE) {
        this.#topic.set(n, this.#topics.indexOf(op.topic))
        this.#key.set(n, this.#keyIndex(op.key))
        this.#invoked.set(n, this.#place)
      }
      if (mayStore) this.#mayBeStored.add(n, 1)
      return
    }
    if (op.type === "fail" && mayStore) this.#mayBeStored.add(n, -1)
    if (op.type === "ok" && isFirst) this.#acknowledged.set(n, this.#place)
  }

  #receipt({ n, topic, partition, offset }: Extract<Op, { f: "receipt" }>): void {
    const log = this.#log(topic, partition)
    const there = log.numbers.get(offset)
    if (there === NONE) log.numbers.set(offset, n)
    else if (there !== n)
      this.#found(
        "inconsistent-offsets",
        n,
        `Hookline was told this offset, which holds ${there}`,
        log,
        offset,
      )
  }

  #poll({ reader, topic, partition, records }: Extract<Op, { f: "poll" }>): void {
    const log = this.#log(topic, partition)
    const mark = reader === "final" ? FINAL : CONTINUOUS
    for (const [at, [offset, n, key]] of records.entries()) {
      if (mark === CONTINUOUS) this.#polled += 1
      const due = log.next[reader]
      const detail = `${reader} reader: offset ${due} was due`
      if (offset > due) this.#found(at === 0 ? "poll-skip" : "int-poll-skip", n, detail, log, offset)
      if (offset < due)
        this.#found(at === 0 ? "nonmonotonic-poll" : "int-nonmonotonic-poll", n, detail, log, offset)
      log.next[reader] = offset + 1
      log.readers.set(offset, log.readers.get(offset) | mark)
      const there = log.numbers.get(offset)
      if (there !== NONE && there !== n)
        this.#found("inconsistent-offsets", n, `${reader} reader; before, it held ${there}`, log, offset)
      log.numbers.set(offset, n)
      const isPosted = n >= 0 && this.#topics[this.#topic.get(n)] === topic
      if (!isPosted || this.#key.get(n) !== this.#keys.get(key))
        this.#found("unwritten-read", n, `${reader} reader, key ${key}`, log, offset)
    }
  }

  /** Counts the copies of each event, and finds what one reader has and the other has not. */
  #count(log: PartitionLog): void {
    for (let offset = 0; offset < log.numbers.length; offset++) {
      const readers = log.readers.get(offset)
      const n = log.numbers.get(offset)
      if (readers === 0) {
        if (n >= 0)
          this.#found("lost-write", n, "Hookline was told this offset, and nobody read it", log, offset)
        continue
      }
      if ((readers & CONTINUOUS) === 0) this.#found("unseen", n, "only the final reader has it", log, offset)
      if ((readers & FINAL) === 0)
        this.#found("inconsistent-offsets", n, "was read, and is gone at the end", log, offset)
      if (n < 0) continue
      this.#copies.add(n, 1)
      const home = this.#home.get(n)
      this.#home.set(n, home === NONE || home === log.partition ? log.partition : SEVERAL)
    }
  }

  /** Compares the first copies of a key's events, which have all theirs in this partition, with their times. */
  #order(log: PartitionLog): void {
    const latest = new Map<number, number>()
    const seen = new Set<number>()
    for (let offset = 0; offset < log.readers.length; offset++) {
      const n = log.numbers.get(offset)
      if (log.readers.get(offset) === 0 || n < 0 || this.#home.get(n) !== log.partition) continue
      // Only what is there more than once can come again.
      if (this.#copies.get(n) > 1) {
        if (seen.has(n)) continue
        seen.add(n)
      }
      const key = this.#key.get(n)
      const before = latest.get(key)
      const acknowledged = this.#acknowledged.get(n)
      if (acknowledged !== NONE && before !== undefined && acknowledged < this.#invoked.get(before))
        this.#found(
          "nonmonotonic-send",
          n,
          `behind ${before}, which was posted after it was acknowledged`,
          log,
          offset,
        )
      if (before === undefined || this.#invoked.get(n) > this.#invoked.get(before)) latest.set(key, n)
    }
  }

  #found(kind: AnomalyKind, n: number, detail: string, log?: PartitionLog, offset?: number): void {
    this.#counts[kind] += 1
    if (this.#counts[kind] > EXAMPLES) return
    const topic = log?.topic ?? this.#topics[this.#topic.get(n)]!
    const where = log === undefined ? {} : { partition: log.partition, offset: offset! }
    this.#examples.push({ kind, topic, ...where, n, detail })
  }

  #delivery(n: number): Delivery | undefined {
    return this.#deliveries[this.#topic.get(n)]
  }

  #keyIndex(key: string): number {
    return this.#keys.getOrInsertComputed(key, () => this.#keys.size)
  }

  #log(topic: string, partition: number): PartitionLog {
    return this.#logs.getOrInsertComputed(`${topic}/${partition}`, () => ({
      topic,
      partition,
      numbers: new Column(NONE),
      readers: new Column(0),
      next: { continuous: 0, final: 0 },
    }))
  }
}

/** Checks a whole history. */
export function check(history: Iterable<Op>): Verdict {
  const checker = new HistoryChecker()
  for (const op of history) checker.add(op)
  return checker.finish()
}
