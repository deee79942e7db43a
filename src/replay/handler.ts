import type { StoredRecord } from "../brokers/broker.ts"
import { steadyMs, within } from "../clock/clock.ts"
import type { Attempt, AttemptOptions } from "./attempt.ts"
import { attemptTarget } from "./attempt-target.ts"
import { SqlPositions, type SqlDatabase, type SqlTag } from "./sql-positions.ts"
import type { AttemptTarget } from "./target.ts"

/** A record of a topic, as a handler gets it. */
export class HandledEvent {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** The record's timestamp. */
  readonly time: Date
  /** undefined: the record has none. */
  readonly key: string | undefined
  readonly value: Uint8Array
  /** As text; of several with one name, the last. */
  readonly headers: ReadonlyMap<string, string>
  /** Whether it may have been handled before: an attempt failed, or it is among the first records read after a start. */
  readonly isRepeated: boolean

  /** @internal */
  constructor(record: StoredRecord, isRepeated: boolean) {
    const { topic, partition, offset, timestampMs, key, value, headers } = record
    this.topic = topic
    this.partition = partition
    this.offset = offset
    this.time = new Date(timestampMs)
    this.key = key && Buffer.from(key).toString()
    this.value = value
    this.headers = new Map(headers.map(([name, content]) => [name, Buffer.from(content).toString()]))
    this.isRepeated = isRepeated
  }

  /** The value, parsed as JSON. @throws SyntaxError */
  json<T = unknown>(): T {
    return JSON.parse(Buffer.from(this.value).toString()) as T
  }
}

export interface HandlerContext {
  /** Aborts after the `timeout`, or when the application stops. */
  readonly signal: AbortSignal
  /** 1 for the first attempt. */
  readonly attempt: number
  /**
   * Stores the position in the handler's transaction, so that position and effect are committed together. Only with
   * `position: "transaction"`, with which a handler must call it once.
   *
   * @throws the database's error, if the event has already been handled: the transaction must be rolled back then
   */
  commitPosition(tx: SqlTag): Promise<void>
}

/** Handles an event; it counts as handled once the promise has resolved, and is handled again where it throws. */
export type Handler = (event: HandledEvent, context: HandlerContext) => Promise<unknown> | unknown

export interface HandlerOptions {
  /** Names the position: each group gets every event. Default: made of connection and topic. */
  readonly group?: string | undefined
  /** Events handled at once: those of a key one after the other, those without a key in no order. Default: 1, in the order of the log. */
  readonly concurrency?: number | undefined
  /** Events of a key are handled in order, with any concurrency. */
  readonly order?: "key" | undefined
  /** How often an event is handled again that fails while others succeed; then it is a dead letter. Default: 5. */
  readonly retries?: number | undefined
  /** Topic of the same connection for events that fail. Default: they stay only in the log. */
  readonly deadLetter?: string | undefined
  /** Milliseconds that a call may take. Default: 30,000. */
  readonly timeout?: number | undefined
  /** Where a new group begins. Default: `end`, with events published from then on. */
  readonly begin?: "beginning" | "end" | undefined
  /** `transaction`: the handler stores it in its own transaction, of `sql`, by `context.commitPosition`. Default: `after`. */
  readonly position?: "after" | "transaction" | undefined
  /** The database of the transactions: PostgreSQL or SQLite. */
  readonly sql?: SqlDatabase | undefined
}

/** Where a forward sends records. */
export interface DeliveryTarget {
  readonly target: AttemptTarget
  /** Called when a position has been saved. */
  readonly saved?: ((topic: string, next: ReadonlyMap<number, number>) => Promise<void>) | undefined
}

const TIMEOUT_MS = 30_000

/** @param place which handler it is, and the log that its records are of */
export function handlerTarget(
  handler: Handler,
  { concurrency, retries = 5, timeout = TIMEOUT_MS, position, sql }: HandlerOptions,
  place: { readonly group: string; readonly log: () => string },
): DeliveryTarget {
  const positions = position === "transaction" ? new SqlPositions(sql!, place) : undefined
  const attempt: AttemptOptions["attempt"] = async (record, signal, { attempts, sent }) => {
    const startedMs = steadyMs()
    const end = (outcome: Attempt["outcome"], reason: string): Attempt => ({
      outcome,
      reason,
      durationMs: steadyMs() - startedMs,
    })
    // events in flight when the previous process ended are among these
    const isRepeated = attempts > 1 || sent < target.largest.records
    try {
      if (isRepeated && (await positions?.has(record)) === true) return end("delivered", "")
      const late = new AbortController()
      const event = new HandledEvent(record, isRepeated)
      const handling = handle(
        handler,
        event,
        AbortSignal.any([signal, late.signal]),
        attempts,
        positions?.of(record),
      )
      await within(timeout, handling, () => {
        const error = new DOMException(`the handler did not finish within ${timeout} ms`, "TimeoutError")
        late.abort(error)
        throw error
      })
      return end("delivered", "")
    } catch (error) {
      return end("unavailable", error instanceof Error ? error.message : String(error))
    }
  }
  const target = attemptTarget({
    attempt,
    concurrency,
    patience: { refusals: Number.POSITIVE_INFINITY, parkAfterMs: Number.POSITIVE_INFINITY, retries },
  })
  return { target, saved: positions && ((topic, next) => positions.saved(topic, next)) }
}

async function handle(
  handler: Handler,
  event: HandledEvent,
  signal: AbortSignal,
  attempt: number,
  commit: ((tx: SqlTag) => Promise<void>) | undefined,
): Promise<void> {
  let isCommitted = false
  const commitPosition = async (tx: SqlTag): Promise<void> => {
    if (commit === undefined) throw new Error('commitPosition needs the option position: "transaction"')
    await commit(tx)
    isCommitted = true
  }
  await handler(event, { signal, attempt, commitPosition })
  if (commit !== undefined && !isCommitted)
    throw new Error(
      'with position: "transaction" the handler must call context.commitPosition(tx) in its transaction',
    )
}

/** What a test sets of an event and its context; the rest has defaults. */
export interface TestHandling {
  readonly key?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly isRepeated?: boolean | undefined
  readonly attempt?: number | undefined
  /** Called by `commitPosition`. */
  readonly commitPosition?: ((tx: SqlTag) => Promise<void> | void) | undefined
}

/**
 * Calls a handler once, as `Application.handle` would.
 *
 * @param body an object is sent as JSON
 * @throws what the handler throws
 */
export async function testHandler(
  handler: Handler,
  body: string | Uint8Array | object,
  { key, headers = {}, isRepeated = false, attempt = 1, commitPosition }: TestHandling = {},
): Promise<void> {
  const isBytes = typeof body === "string" || body instanceof Uint8Array
  const record: StoredRecord = {
    topic: "test",
    partition: 0,
    offset: 0,
    timestampMs: Date.now(),
    key: key === undefined ? undefined : Buffer.from(key),
    value: Buffer.from(isBytes ? body : JSON.stringify(body)),
    headers: Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)] as const),
  }
  const commit = commitPosition && (async (tx: SqlTag) => void (await commitPosition(tx)))
  const { signal } = new AbortController()
  await handle(handler, new HandledEvent(record, isRepeated), signal, attempt, commit)
}
