import { pause } from "../../clock/clock.ts"
import type { KeptLink } from "../../postgres/kept-link.ts"
import type { PostgresLink } from "../../postgres/link.ts"
import { quoted } from "../../postgres/migrations.ts"
import type { Logger } from "../../telemetry/log.ts"

/** The pause between two looks for records that are too old. */
const ROUND_MS = 5000
/** Records of a transaction: it holds what it deletes for some ten milliseconds, and appends wait for the partition's row. */
const SLICE = 1000

/**
 * Deletes records that are older than a limit, from the front of each partition. First the partition begins after them, durably;
 * then they are deleted, so that offsets go on after a partition that is empty. Several instances may do so at once.
 */
export class PostgresRetention {
  readonly #kept: KeptLink
  readonly #log: Pick<Logger, "warn">
  readonly #statements: { readonly advance: string; readonly sweep: string }
  readonly #ending = new AbortController()
  readonly #done: Promise<void>

  /** @param retentionMs Infinity: nothing is deleted */
  constructor(kept: KeptLink, schema: string, retentionMs: number, log: Pick<Logger, "warn">) {
    this.#kept = kept
    this.#log = log
    const name = quoted(schema)
    this.#statements = {
      advance: `SELECT ${name}.advance($1::bigint, ${SLICE})::float8 AS records`,
      sweep: `SELECT ${name}.sweep(${SLICE})::float8 AS records`,
    }
    this.#done = Number.isFinite(retentionMs) ? this.#run(retentionMs) : Promise.resolve()
  }

  /** Resolves when nothing is deleted any more. */
  async end(): Promise<void> {
    this.#ending.abort()
    await this.#done
  }

  async #run(retentionMs: number): Promise<void> {
    const { signal } = this.#ending
    for (; !signal.aborted; await pause(ROUND_MS, signal)) {
      const { state } = this.#kept
      if (state === undefined) continue
      try {
        await this.#round(state, Date.now() - retentionMs)
      } catch (err) {
        // the next round tries again
        if (!signal.aborted) this.#log.warn({ err }, "records past their retention were not deleted")
      }
    }
  }

  /** @throws what `PostgresLink.run` throws */
  async #round(state: PostgresLink, beforeMs: number): Promise<void> {
    const { advance, sweep } = this.#statements
    for (let moved = 1, swept = 1; moved + swept > 0 && !this.#ending.signal.aborted;) {
      moved = (await state.run<{ records: number }>(advance, [Math.floor(beforeMs)])).rows[0]!.records
      swept = (await state.run<{ records: number }>(sweep)).rows[0]!.records
    }
  }
}
