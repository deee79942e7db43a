import type { StoredRecord } from "../brokers/broker.ts"
import type { ReplayFailure } from "./progress.ts"
import type { ReplayTarget } from "./target.ts"

/** A record that was read, and that the job's saved position is not after yet. */
export interface WindowRecord {
  readonly record: StoredRecord
  /** What it takes of the window. */
  readonly bytes: number
  /** `skipped`: it does not match, and is not sent. `stopped`: it has no answer, and will have none. */
  result: "open" | "delivered" | "skipped" | "stopped" | ReplayFailure
}

export function toWindowRecord(record: StoredRecord, isSkipped: boolean): WindowRecord {
  if (isSkipped) return { record, bytes: 0, result: "skipped" }
  return { record, bytes: record.value.length + (record.key?.length ?? 0), result: "open" }
}

/** Records that do not match and may lie after one that is sent. */
const SKIPPED = 1000

/** The records of a job, in order: sent ones up to the target's window, each until it and all before it are settled. */
export class SendWindow {
  readonly #limits: ReplayTarget["window"]
  readonly #stop: AbortSignal
  readonly #save: (settled: readonly WindowRecord[]) => void
  readonly #all: WindowRecord[] = []
  #sent = 0
  #bytes = 0
  #saving: NodeJS.Immediate | undefined
  /** Resolves when a record is settled, or the job is stopped. */
  #changed = Promise.withResolvers<void>()

  /**
   * @param stop ends what waits here
   * @param save counts and saves records that are settled, in order
   */
  constructor(
    limits: ReplayTarget["window"],
    stop: AbortSignal,
    save: (settled: readonly WindowRecord[]) => void,
  ) {
    this.#limits = limits
    this.#stop = stop
    this.#save = save
    stop.addEventListener("abort", () => this.#change())
  }

  /** Resolves when a record may be sent, or the job is stopped. */
  async admit(one: WindowRecord): Promise<void> {
    while (!this.#stop.aborted && !this.#hasCapacity(one)) await this.#changed.promise
  }

  add(one: WindowRecord): void {
    this.#all.push(one)
    this.#count(one, 1)
    // or those at the front, which only do not match, would be kept
    if (one.result === "skipped" && this.#all.length >= SKIPPED) this.#saveSoon()
  }

  settle(one: WindowRecord, result: WindowRecord["result"]): void {
    one.result = result
    this.#saveSoon()
  }

  /** Resolves when all are saved, or the job is stopped. */
  async saved(): Promise<void> {
    this.#saveSoon()
    while (this.#all.length > 0 && !this.#stop.aborted) await this.#changed.promise
  }

  /** Resolves when all that was sent has its answer, and sooner where that may take long. */
  async answered(mostMs: number, problem: () => string | undefined): Promise<void> {
    const isOpen = (): boolean => this.#all.some(({ result }) => result === "open")
    if (!isOpen()) return
    const late = new Promise((resolve) => setTimeout(resolve, mostMs, "late").unref())
    while (isOpen() && problem() === undefined)
      if ((await Promise.race([this.#changed.promise, late])) === "late") return
  }

  /** Saves and forgets those at the front that are settled. */
  saveSettled(): void {
    clearImmediate(this.#saving)
    this.#saving = undefined
    const at = this.#all.findIndex(({ result }) => result === "open" || result === "stopped")
    const settled = this.#all.splice(0, at < 0 ? this.#all.length : at)
    for (const one of settled) this.#count(one, -1)
    if (settled.length > 0) this.#save(settled)
    this.#change()
  }

  /** All that is settled in this turn of the event loop is saved at once. */
  #saveSoon(): void {
    this.#saving ??= setImmediate(() => this.saveSettled())
  }

  #hasCapacity({ bytes, result }: WindowRecord): boolean {
    const { records, bytes: mostBytes } = this.#limits
    if (result === "skipped") return this.#all.length < records + SKIPPED
    return this.#sent === 0 || (this.#sent < records && this.#bytes + bytes <= mostBytes)
  }

  #count({ result, bytes }: WindowRecord, by: 1 | -1): void {
    if (result === "skipped") return
    this.#sent += by
    this.#bytes += by * bytes
  }

  #change(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}
