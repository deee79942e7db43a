import type { StoredRecord } from "../brokers/broker.ts"
import { within } from "../clock/clock.ts"
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
/** How often a full window is compared with the target's, which may have become larger. */
const POLL_MS = 100

/**
 * The records of a job: sent ones up to the target's window, each until it and all before it in its partition are settled
 * and saved.
 */
export class SendWindow {
  readonly #target: Pick<ReplayTarget, "window">
  readonly #stop: AbortSignal
  readonly #save: (settled: readonly WindowRecord[]) => Promise<void>
  /** In order, by partition. */
  readonly #partitions = new Map<number, WindowRecord[]>()
  /** Partitions with records that were settled since they were saved last. */
  readonly #settled = new Set<number>()
  #count = 0
  #sent = 0
  #bytes = 0
  #soon: NodeJS.Immediate | undefined
  #saving: Promise<void> | undefined
  /** Resolves when a record is settled, or the job is stopped. */
  #changed = Promise.withResolvers<void>()

  /**
   * @param stop ends what waits here
   * @param save counts and saves records that are settled, by partition in order; one call at a time
   */
  constructor(
    target: Pick<ReplayTarget, "window">,
    stop: AbortSignal,
    save: (settled: readonly WindowRecord[]) => Promise<void>,
  ) {
    this.#target = target
    this.#stop = stop
    this.#save = save
    stop.addEventListener("abort", () => this.#change())
  }

  /** Resolves when a record may be sent, or the job is stopped. */
  async admit(one: WindowRecord): Promise<void> {
    while (!this.#stop.aborted && !this.#hasCapacity(one))
      await within(POLL_MS, this.#changed.promise, () => {})
  }

  add(one: WindowRecord): void {
    const { partition } = one.record
    this.#partitions.getOrInsert(partition, []).push(one)
    this.#tally(one, 1)
    if (one.result !== "skipped") return
    this.#settled.add(partition)
    // or those at the front, which only do not match, would be kept
    if (this.#count >= SKIPPED) this.#saveSoon()
  }

  settle(one: WindowRecord, result: WindowRecord["result"]): void {
    one.result = result
    this.#settled.add(one.record.partition)
    this.#saveSoon()
  }

  /** Resolves when all are saved, or the job is stopped. */
  async saved(): Promise<void> {
    this.#saveSoon()
    while (this.#count > 0 && !this.#stop.aborted) await this.#changed.promise
  }

  /** Resolves when all that was sent has its answer, and sooner where that may take long. */
  async answered(mostMs: number, problem: () => string | undefined): Promise<void> {
    const isOpen = (): boolean =>
      this.#partitions.values().some((all) => all.some(({ result }) => result === "open"))
    if (!isOpen()) return
    const late = new Promise((resolve) => setTimeout(resolve, mostMs, "late").unref())
    while (isOpen() && problem() === undefined)
      if ((await Promise.race([this.#changed.promise, late])) === "late") return
  }

  /** Saves and forgets those at the fronts that are settled. */
  async saveSettled(): Promise<void> {
    clearImmediate(this.#soon)
    this.#soon = undefined
    while (this.#saving !== undefined) await this.#saving
    const settled = [...this.#settled].flatMap((partition) => this.#takeFront(partition))
    this.#settled.clear()
    if (settled.length > 0) {
      await (this.#saving = this.#save(settled).finally(() => (this.#saving = undefined)))
      for (const one of settled) this.#tally(one, -1)
    }
    this.#change()
    if (this.#settled.size > 0) this.#saveSoon()
  }

  #takeFront(partition: number): WindowRecord[] {
    const all = this.#partitions.get(partition)!
    const at = all.findIndex(({ result }) => result === "open" || result === "stopped")
    return all.splice(0, at < 0 ? all.length : at)
  }

  /** All that is settled in this turn of the event loop, or while a save is under way, is saved at once. */
  #saveSoon(): void {
    if (this.#saving === undefined) this.#soon ??= setImmediate(() => void this.saveSettled())
  }

  #hasCapacity({ bytes, result }: WindowRecord): boolean {
    const { records, bytes: mostBytes } = this.#target.window
    if (result === "skipped") return this.#count < records + SKIPPED
    return this.#sent === 0 || (this.#sent < records && this.#bytes + bytes <= mostBytes)
  }

  #tally({ result, bytes }: WindowRecord, by: 1 | -1): void {
    this.#count += by
    if (result === "skipped") return
    this.#sent += by
    this.#bytes += by * bytes
  }

  #change(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}
