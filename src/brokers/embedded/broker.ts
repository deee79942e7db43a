import { resolve } from "node:path"
import type {
  DedupeKey,
  JournaledKey,
  KeyJournal,
  KeyPlace,
  Receipt,
  Record,
  RecordPlace,
} from "../../pipeline/record.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { ConnectionMetrics, LogMetrics } from "../../telemetry/metrics.ts"
import { HooklineError } from "../../errors.ts"
import { BatchPublisher, type PublisherDependencies } from "../batch-publisher.ts"
import type { Broker, LogState } from "../broker.ts"
import { logIn } from "../../storage/database-file.ts"
import { answerOf } from "../../storage/database-calls.ts"
import { DurableWriter } from "../../storage/durable-writer.ts"
import { BUSY_RETRY_MS, type ThreadAnswer } from "../../storage/serve-database.ts"
import { BatchPacker } from "./batch.ts"
import { KafkaListener, type KafkaPort } from "./kafka-listener.ts"
import type { PortOptions } from "../../kafka-listener/port.ts"
import { LogDatabase } from "./log-database.ts"
import { checkPartitions } from "./partition-count.ts"
import { Retention } from "./retention.ts"

export interface EmbeddedOptions {
  /** Created if missing. */
  readonly directory: string
  /** How long records are kept, in milliseconds. Default: forever. */
  readonly retention?: number
  /** The most bytes of keys, values and headers kept, over all topics; the oldest records are deleted first. Default: no limit. */
  readonly retention_bytes?: number
  /** How many partitions each topic has. Default: 1. */
  readonly partitions?: number
}

export interface EmbeddedDeps {
  readonly log: Logger
  /** As in storage/durable-writer.ts. */
  readonly unopened?: HooklineError | undefined
  readonly metrics: ConnectionMetrics
  readonly logMetrics?: LogMetrics
  /** As in retention.ts. */
  readonly roundMs?: number
}

const BATCH_BYTES = 8 * 1024 * 1024
const FOREVER = Number.POSITIVE_INFINITY
const UNCOUNTED: LogMetrics = { deleted() {} }

/**
 * Opens the log in a directory for publishing, which one process at a time can. Its states are those of its file
 * (storage/durable-writer.ts) and of its batches (batch-publisher.ts).
 *
 * @throws HooklineError `log_locked`, `log_io`; OptionError `config` of partitions, as checkPartitions
 */
export const openEmbedded = (options: EmbeddedOptions, deps: EmbeddedDeps): EmbeddedBroker =>
  new EmbeddedBroker(options, deps)

type CommittedBatch = ReturnType<LogDatabase["commitWithKeys"]>

export class EmbeddedBroker implements Broker {
  readonly #writer: DurableWriter<LogDatabase>
  readonly #publisher: BatchPublisher
  readonly #packer = new BatchPacker()
  readonly #retention: Retention
  /** Absolute, as that of dedupe keys. */
  readonly #directory: string
  readonly #log: Logger
  #kafka: KafkaListener | undefined
  #kept = { ms: FOREVER, bytes: FOREVER }
  #partitions: number
  #topics: readonly string[] = []
  /** Those among them that were passed to the open file. */
  readonly #named = new Set<string>()
  /** The number of the last call of `prepare`, which continues what earlier ones have begun. */
  #preparing = 0
  /** Dedupe keys up to this id are deleted with the next batch. */
  #forgetThroughId: number | undefined
  /** Keys of the batch that the thread has, or had when the file failed: reopening it shows whether their records are in it. */
  #inDoubt: DedupeKey[] = []
  /** The places of records with keys, by topic and partition, in the current epoch. */
  readonly #places = new Map<string, KeyPlace[]>()
  #reopening = (): void => {}
  #closing: Promise<void> | undefined
  readonly #closed = Promise.withResolvers<readonly JournaledKey[]>()

  /** For the store of dedupe keys in the same folder. A log that is closed has nothing for it. */
  readonly keyJournal: KeyJournal = {
    read: () => Promise.race([answerOf(this.#writer, "state"), this.#closed.promise]),
    lost: (places) =>
      Promise.race([
        answerOf(this.#writer, "lost", places),
        this.#closed.promise.then(() => ({ gaps: 0, lost: [] })),
      ]),
    forget: (throughId) => {
      this.#forgetThroughId = Math.max(throughId, this.#forgetThroughId ?? 0)
    },
    onReopening: (called) => {
      this.#reopening = called
    },
  }

  constructor(options: EmbeddedOptions, deps: EmbeddedDeps) {
    const { log, unopened, metrics, logMetrics = UNCOUNTED, roundMs } = deps
    const location = logIn(options.directory)
    this.#log = log
    this.#directory = resolve(options.directory)
    this.#partitions = options.partitions ?? 1
    const probe = (): void => {
      const database = new LogDatabase(location)
      const { mostPartitions } = database
      database.close()
      checkPartitions(this.#partitions, mostPartitions, location)
    }
    this.#writer = new DurableWriter<LogDatabase>(location, probe, {
      log,
      unopened,
      failed: (failure) => {
        // nobody recovers a damaged one: clients read what can be read
        if (failure.isDamaged === true) this.#kafka?.open()
        else this.#kafka?.close()
        this.#publisher.rejectAll(failure)
        this.#reopening()
      },
      recovered: (state) => {
        const last = new Map((state as readonly JournaledKey[]).map((one) => [one.key, one]))
        this.#settleKeys(({ key, untilMs }) => {
          const one = last.get(key)
          // an expired one of the same key says nothing of this record
          return one?.untilMs === untilMs ? one.id : undefined
        })
        this.#reopening()
        this.#named.clear()
        this.prepare(this.#topics)
        this.#kafka?.open()
      },
    })
    this.#publisher = new BatchPublisher({
      title: location.title,
      batchBytes: BATCH_BYTES,
      commit: this.#commit,
      failure: () => this.#writer.failure,
      problem: () => this.#writer.problem,
      committed: (records, ms) => metrics.batch(records, ms),
    })
    this.#retention = new Retention({
      log,
      metrics: logMetrics,
      file: location.file,
      trim: (limits, done) =>
        this.#writer.do("keep", [limits], (answer) => {
          this.#kafka?.trimmed()
          done(answer.kind === "done" ? answer.value : undefined)
        }),
      roundMs,
    })
    // before the first commit
    this.prepare([])
    this.retain(options)
  }

  /** @throws OptionError `config` of fewer partitions than topics have */
  checkPartitions(partitions = 1): void {
    checkPartitions(partitions, this.#partitions, logIn(this.#directory))
  }

  /** Changes how many partitions topics have, to as many or more. */
  partition(partitions = 1): void {
    if (partitions === this.#partitions) return
    this.#partitions = partitions
    this.prepare(this.#topics)
  }

  /** Changes retention. */
  retain({ retention, retention_bytes }: Pick<EmbeddedOptions, "retention" | "retention_bytes">): void {
    this.#retention.keep(retention, retention_bytes)
    this.#kept = { ms: retention ?? FOREVER, bytes: retention_bytes ?? FOREVER }
    this.#kafka?.retain(this.#kept)
  }

  /** Lets Kafka clients read the log. @param unopened of the consumer groups, as in storage/durable-writer.ts */
  listen(options: PortOptions, unopened?: HooklineError): KafkaPort {
    if (this.#kafka === undefined) {
      this.#kafka = new KafkaListener(this.#directory, this.#kept, { log: this.#log, unopened })
      // once the file is open; after a failure `recovered` says so
      this.#writer.do("state", [], (answer) => {
        if (answer.kind === "done" || this.#writer.failure?.isDamaged === true) this.#kafka?.open()
      })
    }
    return this.#kafka.listen(options)
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    return this.#publisher.publish(record, deadlineMs)
  }

  /** Creates topics, and gives all of the file their partitions; a record that is published earlier does so for its topic. */
  prepare(topics: readonly string[]): void {
    this.#topics = topics
    this.#prepareNext(
      ++this.#preparing,
      topics.filter((name) => !this.#named.has(name)),
    )
  }

  ready(): true | string {
    return this.#closing === undefined ? (this.#writer.problem ?? true) : "the log is closing"
  }

  logState(): LogState | undefined {
    return this.#retention.state
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    this.#retention.end()
    await this.#publisher.close()
    await this.#kafka?.end()
    if (this.#forgetThroughId !== undefined) this.#writer.do("forgetKeys", [this.#forgetThroughId], () => {})
    await this.#writer.close()
    this.#closed.resolve([])
    this.#settleKeys(() => undefined)
  }

  /** A few topics at a time, with commits in between. @param topics that the file does not have yet; only the first time */
  #prepareNext(round: number, topics: readonly string[] = []): void {
    this.#writer.do("prepare", [this.#partitions, topics], (answer) => {
      if (answer.kind === "done") for (const name of topics) this.#named.add(name)
      if (round !== this.#preparing || this.#closing !== undefined) return
      if (answer.kind === "busy") setTimeout(() => this.#prepareNext(round, topics), BUSY_RETRY_MS)
      else if (answer.kind === "done" && answer.value) this.#prepareNext(round)
    })
  }

  readonly #commit: PublisherDependencies["commit"] = (records, then) => {
    const batch = this.#packer.pack(records)
    const forgetThroughId = this.#forgetThroughId
    this.#forgetThroughId = undefined
    const withKeys: number[] = []
    for (const [at, { record }] of records.entries()) {
      const { dedupeKey } = record
      if (dedupeKey?.directory !== this.#directory) continue
      dedupeKey.isInDoubt = true
      this.#inDoubt.push(dedupeKey)
      withKeys.push(at)
    }
    const keys = this.#inDoubt.map(({ key, untilMs }) => [key, untilMs] as const)
    const answered = (answer: ThreadAnswer<CommittedBatch>): void => {
      if (answer.kind === "done") {
        this.#kafka?.committed(batch.topics)
        const { value } = answer
        this.#packer.release(value.transfer[0]!)
        const firstId = value.lastKeyId - keys.length + 1
        this.#settleKeys(
          (_, at) => firstId + at,
          (at) => this.#placeOf(records[withKeys[at]!]!.record.topic, withKeys[at]!, value),
        )
      } else {
        if (forgetThroughId !== undefined) this.keyJournal.forget(forgetThroughId)
        if (answer.kind === "busy") this.#settleKeys(() => undefined)
      }
      then(answer)
    }
    this.#writer.do("commit", [batch, keys, Date.now(), forgetThroughId], answered, [batch.bytes])
  }

  /** The place of a batch's record. @param at its index in the batch */
  #placeOf(
    topic: string,
    at: number,
    { log, epoch, epochId, offsets, partitions }: CommittedBatch,
  ): RecordPlace {
    const partition = partitions?.[at] ?? 0
    const known = this.#places.getOrInsertComputed(topic, () => [])
    if (known[partition]?.epochId !== epochId) known[partition] = { log, topic, partition, epoch, epochId }
    return { place: known[partition]!, offset: offsets[at]! }
  }

  /** @param idOf undefined: the key is not in the log @param placeOf of its record; absent: not known */
  #settleKeys(
    idOf: (key: DedupeKey, at: number) => number | undefined,
    placeOf?: (at: number) => RecordPlace,
  ): void {
    for (const [at, one] of this.#inDoubt.splice(0).entries()) {
      const id = idOf(one, at)
      if (id !== undefined) one.committed(id, placeOf?.(at))
      one.isInDoubt = false
      one.known?.(id !== undefined)
    }
  }
}
