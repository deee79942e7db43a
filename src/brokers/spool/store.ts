import type { Receipt, Record } from "../../pipeline/record.ts"
import { DurableWriter, type WriterDependencies } from "../../storage/durable-writer.ts"
import type { Failure, ThreadAnswer } from "../../storage/serve-database.ts"
import { BatchPublisher } from "../batch-publisher.ts"
import { BatchPacker, unpackBatch } from "../embedded/batch.ts"
import type { StoredRecord } from "../broker.ts"
import { SpoolCapacity } from "./capacity.ts"
import { openSpoolDatabase, spoolAt, type Contents, type SpoolDatabase } from "./spool-database.ts"

/** Small enough for the reserve of a full disk, see reserve.ts. */
const BATCH_BYTES = 1024 * 1024
/** How often it is tried whether a full disk has space again. */
const DISK_MS = 500

const EMPTY: Contents = {
  records: 0,
  bytes: 0,
  oldestMs: undefined,
  quarantined: 0,
  topics: [],
  hasReserve: true,
}

export interface SpoolOptions {
  readonly file: string
  /** How many bytes of keys, values and headers it takes. */
  readonly maxBytes: number
  /** Whether quarantined records are tried again. */
  readonly requeues?: boolean
}

type SpoolOperations = SpoolDatabase["operations"]

/** A spool's file as the event loop has it: what it held when the thread answered last, and whether more fits in. */
export class SpoolStore {
  readonly capacity: SpoolCapacity
  contents = EMPTY
  readonly #writer: DurableWriter<SpoolDatabase>
  readonly #publisher: BatchPublisher
  readonly #packer = new BatchPacker()
  /** The batch that the thread has: it may be committed although its records were rejected at their deadlines. */
  #committing: (PromiseWithResolvers<void> & { readonly records: ReadonlySet<Record> }) | undefined
  #makingReserve: Timer | undefined
  #isClosing = false

  /** @param opened called when the file is open, if it is not at first @throws HooklineError `log_locked`, `log_io` */
  constructor(
    { file, maxBytes, requeues = false }: SpoolOptions,
    { log, unopened }: Pick<WriterDependencies, "log" | "unopened">,
    opened: () => void,
  ) {
    const location = spoolAt(file)
    let contents: Contents | undefined
    const probe = (): void => {
      const database = openSpoolDatabase(location)
      try {
        database.makeReserve(true)
        contents = requeues ? database.requeue() : database.state()
      } finally {
        database.close()
      }
    }
    this.#writer = new DurableWriter<SpoolDatabase>(location, probe, {
      log,
      unopened,
      failed: (failure) => this.#failed(failure),
      recovered: (state) => {
        if (contents !== undefined) return this.#note(state as Contents)
        contents = state as Contents
        const begin = (known: Contents): void => {
          this.#note(known)
          opened()
        }
        if (requeues) void this.#do("requeue", []).then((it) => begin(it ?? (state as Contents)))
        else begin(contents)
      },
    })
    this.capacity = new SpoolCapacity(file, maxBytes, log)
    this.#publisher = new BatchPublisher({
      title: location.title,
      batchBytes: BATCH_BYTES,
      commit: (pending, then) => {
        const batch = this.#packer.pack(pending)
        const records = new Set(pending.map(({ record }) => record))
        const committing = (this.#committing = { ...Promise.withResolvers<void>(), records })
        const answered = (answer: ThreadAnswer<ReturnType<SpoolDatabase["commitSpooled"]>>): void => {
          this.#committing = undefined
          if (answer.kind === "done") {
            this.#packer.release(answer.value.transfer[0]!)
            this.#note(answer.value.contents)
          }
          then(answer)
          committing.resolve()
        }
        this.#writer.do("commit", [batch, Date.now()], answered, [batch.bytes])
      },
      failure: () => this.#writer.failure,
    })
    if (contents !== undefined) this.#note(contents)
  }

  /** Why no event is accepted; undefined while they are. */
  get problem(): string | undefined {
    return this.capacity.problem ?? this.#writer.problem
  }

  /** Why the file can't be used now, whatever space it has; undefined: it can. */
  get fileProblem(): string | undefined {
    return this.#writer.problem
  }

  get isUnopened(): boolean {
    return this.contents === EMPTY
  }

  /** Resolves when the batch that the thread has is in the file, or is not; undefined: it has none. */
  get committing(): Promise<void> | undefined {
    return this.#committing?.promise
  }

  /** Resolves when the record is durable. @throws PublishError, as a rejection */
  async publish(record: Record, deadlineMs: number): Promise<Receipt> {
    const refusal = this.capacity.take(record)
    if (refusal !== undefined) throw refusal
    try {
      return await this.#publisher.publish(record, deadlineMs)
    } finally {
      const out = this.#committing?.records.has(record) === true ? this.#committing.promise : undefined
      if (out === undefined) this.capacity.taken(record)
      else void out.then(() => this.capacity.taken(record))
    }
  }

  /** The oldest records of a topic, and whether it has no other; undefined: the file can't be read now. */
  async window(topic: string): Promise<{ records: StoredRecord[]; isAll: boolean } | undefined> {
    const packed = await this.#do("window", [topic])
    if (packed === undefined) return undefined
    const { batch, firstOffset, isAll } = packed
    const records = unpackBatch(batch).map(({ record }, at) => {
      const { key, value, headers = [], timestampMs } = record
      return { topic, partition: 0, offset: firstOffset + at, timestampMs: timestampMs!, key, value, headers }
    })
    return { records, isAll }
  }

  /** As SpoolDatabase. @returns whether it did */
  async settle(topic: string, lastOffset: number, refused: ReadonlyMap<number, string>): Promise<boolean> {
    const contents = await this.#do("settle", [topic, lastOffset, refused])
    if (contents !== undefined) this.#note(contents)
    return contents !== undefined
  }

  shrink(): void {
    void this.#do("shrink", [])
  }

  async close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#makingReserve)
    await this.#publisher.close()
    await this.#writer.close()
  }

  /** Resolves with undefined where the file can't be used. */
  #do<K extends keyof SpoolOperations>(
    operation: K,
    args: Parameters<SpoolOperations[K]>,
  ): Promise<ReturnType<SpoolOperations[K]> | undefined> {
    return new Promise((resolve) =>
      this.#writer.do(operation, args, (answer) =>
        resolve(answer.kind === "done" ? answer.value : undefined),
      ),
    )
  }

  #note(contents: Contents): void {
    this.contents = contents
    this.capacity.used(contents.bytes)
    if (contents.hasReserve) this.capacity.diskFull(false)
    else this.#diskFull()
  }

  #failed(failure: Failure): void {
    if (failure.isDiskFull) this.#diskFull()
    this.#publisher.rejectAll(failure)
  }

  #diskFull(): void {
    this.capacity.diskFull(true)
    if (!this.#isClosing) this.#makingReserve ??= setTimeout(() => this.#makeReserve(), DISK_MS)
  }

  async #makeReserve(): Promise<void> {
    const hasReserve = await this.#do("makeReserve", [])
    this.#makingReserve = undefined
    if (hasReserve === true) this.#note({ ...this.contents, hasReserve })
    else if (this.capacity.isDiskFull) this.#diskFull()
  }
}
