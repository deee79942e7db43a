import { PublishError } from "../../errors.ts"
import { pause, steadyMs } from "../../clock/clock.ts"
import type { KeptLink } from "../../postgres/kept-link.ts"
import type { PostgresLink } from "../../postgres/link.ts"
import { quoted } from "../../postgres/migrations.ts"
import type { CommitAnswer, UncommittedRecord } from "../batch-publisher.ts"
import type { AcknowledgedEnds } from "./acknowledged-ends.ts"
import { packAppend } from "./append.ts"
import type { PlacedRecord, TopicPartitions } from "./topic-partitions.ts"

/** An append without a deadline, as a replay's, whose answer has not come by then is in doubt. */
const LONGEST_MS = 60_000
/** The pause between two questions for a statement that nobody waits for any more. */
const LOOK_MS = 1000

/** The consequence of a server's error for a batch: https://www.postgresql.org/docs/current/errcodes-appendix.html */
type Verdict = "again" | "in doubt" | "record"

type Committed = Extract<CommitAnswer, { kind: "done" }>["value"]

/**
 * Appends batches, one at a time, each by one statement that is a transaction of its own. Its answer is certain only if the
 * statement succeeded without a warning, or failed while the connection stayed: everything else is in doubt, and refused. No
 * append is cancelled, since a server that is asked to cancel one may commit it: its connection is dropped instead.
 */
export class Appender {
  readonly #kept: KeptLink
  readonly #topics: TopicPartitions
  readonly #ends: AcknowledgedEnds
  readonly #statement: string
  #stalled: string | undefined

  constructor(kept: KeptLink, topics: TopicPartitions, ends: AcknowledgedEnds, schema: string) {
    this.#kept = kept
    this.#topics = topics
    this.#ends = ends
    this.#statement = `SELECT partition, first_offset::float8 AS first_offset
      FROM ${quoted(schema)}.append($1::integer[], $2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::bytea)`
  }

  /** The reason that the server has not answered in time; undefined: it has. */
  get problem(): string | undefined {
    return this.#stalled
  }

  /** Never rejects. */
  async append(records: readonly UncommittedRecord[]): Promise<CommitAnswer> {
    const { link } = this.#kept
    if (link === undefined) {
      // by then some are past their deadlines
      await this.#kept.whenUsable()
      return { kind: "busy" }
    }
    const isAnswered = new AbortController()
    void this.#watch(link, latestOf(records), isAnswered.signal)
    const startMs = performance.now()
    try {
      const placed = await this.#topics.place(link, records)
      const nowMs = steadyMs()
      if (records.some(({ deadlineMs }) => deadlineMs <= nowMs)) return { kind: "busy" }
      const offsets = await this.#appendAll(link, placed)
      const partitions = placed.map(({ number }) => number)
      return { kind: "done", value: { offsets, partitions, ms: performance.now() - startMs } }
    } catch (error) {
      return this.#failed(link, error)
    } finally {
      isAnswered.abort()
      this.#stalled = undefined
    }
  }

  /**
   * Drops the connection once nobody waits for its statement, unless the server still works on it: it would go on, and each
   * new connection would wait with it, as for a standby.
   */
  async #watch(link: PostgresLink, untilMs: number, answered: AbortSignal): Promise<void> {
    await pause(Math.min(untilMs - steadyMs(), LONGEST_MS), answered)
    while (!answered.aborted) {
      const wait = await this.#kept.waitOf(link)
      if (answered.aborted) return
      if (wait === undefined) return this.#kept.fail(link, new Error("has not answered in time"))
      this.#stalled = describeWait(wait.event)
      await pause(LOOK_MS, answered)
    }
  }

  /** Halves a batch that the server refuses, until it is known for which record. @returns the offset of each */
  async #appendAll(link: PostgresLink, placed: readonly PlacedRecord[]): Promise<Committed["offsets"]> {
    try {
      return await this.#appendOnce(link, placed)
    } catch (error) {
      if (verdictOf(error) !== "record") throw error
      if (placed.length === 1) {
        const { message } = error as Error
        placed[0]!.one.reject(
          new PublishError("refused", `PostgreSQL refuses the record: ${message}`, { cause: error }),
        )
        return [-1]
      }
    }
    const half = Math.ceil(placed.length / 2)
    const first = placed.slice(0, half)
    const offsets = await this.#appendAll(link, first)
    // whatever becomes of the others
    for (const [at, { one, number }] of first.entries())
      one.resolve({ partition: number, offset: offsets[at]! })
    return [...offsets, ...(await this.#appendAll(link, placed.slice(half)))]
  }

  async #appendOnce(link: PostgresLink, placed: readonly PlacedRecord[]): Promise<number[]> {
    const batch = placed.map(({ one }) => one)
    const values = packAppend(
      batch,
      placed.map(({ id }) => id),
      Date.now(),
    )
    const { rows, warnings } = await link.run<{ partition: number; first_offset: number }>(
      this.#statement,
      values,
    )
    if (warnings.length > 0)
      throw new PublishError("unavailable", `PostgreSQL committed with a warning: ${warnings.join("; ")}`)
    const next = new Map(rows.map((row) => [row.partition, row.first_offset]))
    const offsets = placed.map(({ id }) => {
      const offset = next.get(id)!
      next.set(id, offset + 1)
      return offset
    })
    for (const [id, end] of next) this.#ends.acknowledged(id, end, () => nameOf(placed, id))
    return offsets
  }

  #failed(link: PostgresLink, error: unknown): CommitAnswer {
    if (error instanceof PublishError) return { kind: "failed", reason: error.message }
    const verdict = verdictOf(error)
    if (verdict === "again") return { kind: "busy" }
    this.#kept.fail(link, error)
    return { kind: "failed", reason: this.#kept.problem ?? (error as Error).message, cause: error }
  }
}

/** @param event as PostgreSQL names it; null: none, it computes */
function describeWait(event: string | null): string {
  if (event === "SyncRep") return "PostgreSQL waits for a synchronous standby that does not confirm"
  return `PostgreSQL has not finished an append in time${event === null ? "" : `: it waits for ${event}`}`
}

function nameOf(placed: readonly PlacedRecord[], partitionId: number): { topic: string; number: number } {
  const { one, number } = placed.find(({ id }) => id === partitionId)!
  return { topic: one.record.topic, number }
}

const latestOf = (records: readonly UncommittedRecord[]): number =>
  records.reduce((ms, { deadlineMs }) => Math.max(ms, deadlineMs), 0)

/** A serialization failure or deadlock: rolled back, and no fault of the batch. */
const AGAIN = /^(?:40001|40P01)$/
/** Wrong data, a violated constraint, a limit of the server's. */
const OF_RECORD = /^(?:22|23|54)/

function verdictOf(error: unknown): Verdict {
  const { code } = error as { readonly code?: unknown }
  if (typeof code !== "string") return "in doubt"
  if (AGAIN.test(code)) return "again"
  return OF_RECORD.test(code) ? "record" : "in doubt"
}
