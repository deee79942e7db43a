import { pause } from "../../clock.ts"
import { PublishError } from "../../errors.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { SpoolMetrics } from "../../telemetry/metrics.ts"
import type { StoredRecord, YieldingBroker } from "../broker.ts"
import type { SpoolStore } from "./store.ts"

/** What the topics of a spool share. */
export interface SpoolParts {
  /** Where events go at the moment. */
  readonly broker: () => YieldingBroker
  readonly store: SpoolStore
  readonly log: Logger
  readonly metrics: SpoolMetrics
  /** Whether the broker takes events, as far as is known; if not, why. */
  readonly taking: () => true | string
  /** Whether what the broker does not take is refused, and no longer spooled. */
  readonly isRetired: () => boolean
  /** Ends forwarding. */
  readonly signal: AbortSignal
}

/** What a topic learns, and is asked, while its records are forwarded. */
export interface ForwardedTopic {
  /** What is forwarded next is all there is in the file. */
  readonly last: () => void
  /** The broker takes nothing now. */
  readonly delayed: () => void
  /** Resolves when some of what is on its way into the file is there, or was refused; undefined: nothing is. */
  readonly stored: () => Promise<void> | undefined
  /** The broker acknowledged so many. */
  readonly forwarded: (records: number) => void
  /** The broker took one, or refused it for good. */
  readonly moved: () => void
  /** Why the broker took none. */
  readonly failed: (reason: string) => void
}

/**
 * Forwards a topic's records, the oldest first, a window after the other.
 *
 * @returns whether all of them are forwarded and nothing is on its way into the file; false when the signal aborted
 */
export async function forwardTopic(
  topic: string,
  parts: SpoolParts,
  owner: ForwardedTopic,
): Promise<boolean> {
  const { store, signal } = parts
  for (;;) {
    await untilTaking(parts, owner)
    if (signal.aborted) return false
    const window = await unlessLeft(store.window(topic), signal)
    if (signal.aborted) return false
    if (window === undefined) {
      await pause(RETRY_MS, signal)
      continue
    }
    if (window.isAll) owner.last()
    if (window.records.length > 0) {
      await settle(topic, await publishAll(window.records, topic, parts, owner), parts, owner)
      continue
    }
    const stored = owner.stored()
    if (stored === undefined) return true
    await stored
  }
}

/** Deletes what was forwarded. Until that can be done nothing more is forwarded. */
async function settle(
  topic: string,
  { done, refused }: Forwarded,
  { store, signal, log, metrics }: SpoolParts,
  owner: ForwardedTopic,
): Promise<void> {
  const last = done.at(-1)
  if (last === undefined) return
  while ((await unlessLeft(store.settle(topic, last.offset, refused), signal)) !== true) {
    if (signal.aborted) return
    await pause(RETRY_MS, signal)
  }
  const forwarded = done.length - refused.size
  owner.forwarded(forwarded)
  metrics.forwarded(forwarded)
  metrics.quarantined(refused.size)
  if (refused.size === 0) return
  const [reason] = refused.values()
  log.error(
    { topic, records: refused.size, reason },
    "QUARANTINED: the broker refuses spooled events for good; see hookline spool status",
  )
}

/** Resolves when the broker takes events, or the signal aborts. */
async function untilTaking({ taking, signal }: SpoolParts, owner: ForwardedTopic): Promise<void> {
  while (!signal.aborted && taking() !== true) {
    owner.delayed()
    await pause(POLL_MS, signal)
  }
}

/** What became of a window of records. */
interface Forwarded {
  /** The first ones, all of which the broker acknowledged or refused for good. */
  readonly done: readonly StoredRecord[]
  /** Why, by offset, the broker refused some of these. */
  readonly refused: ReadonlyMap<number, string>
}

/**
 * Publishes a topic's records in their order, again and again, until the broker has acknowledged or refused for good
 * each of them, or the signal aborts.
 *
 * They have no deadlines, so that a batch of unknown fate goes out again as it was, and the broker knows it. When one
 * fails, those behind it are cancelled before they are sent: none overtakes an older one of its key. A broker that another
 * has replaced fails what it has not settled in time, and the other gets it.
 */
async function publishAll(
  records: readonly StoredRecord[],
  topic: string,
  parts: SpoolParts,
  owner: ForwardedTopic,
): Promise<Forwarded> {
  const { signal, log } = parts
  const refused = new Map<number, string>()
  const open = new Set(records)
  let broker = parts.broker()
  const stop = (): void => broker.cancel(topic)
  signal.addEventListener("abort", stop)
  while (open.size > 0 && !signal.aborted) {
    broker = parts.broker()
    let trouble: PublishError | undefined
    const publishOne = async (record: StoredRecord): Promise<void> => {
      try {
        await broker.publish(record, Number.POSITIVE_INFINITY)
        open.delete(record)
        owner.moved()
      } catch (error) {
        if (!(error instanceof PublishError))
          log.error({ topic, err: error }, "unhandled error while forwarding a spooled event")
        if (!(error instanceof PublishError && error.retryHelps)) {
          refused.set(record.offset, error instanceof Error ? error.message : String(error))
          open.delete(record)
          owner.moved()
        } else if (trouble === undefined) {
          trouble = error
          broker.cancel(topic)
        }
      }
    }
    const published = [...open].map(publishOne)
    // after an error of this program none is published again before all have their answers
    await Promise.allSettled(published)
    await Promise.all(published)
    if (trouble !== undefined && !signal.aborted) {
      log.debug({ topic, reason: trouble.message }, "forwarding failed; retrying")
      owner.failed(trouble.message)
      owner.delayed()
      await pause(RETRY_MS, signal)
      await untilTaking(parts, owner)
    }
  }
  signal.removeEventListener("abort", stop)
  const end = records.findIndex((record) => open.has(record))
  const done = end < 0 ? records : records.slice(0, end)
  for (const { offset } of records.slice(done.length)) refused.delete(offset)
  return { done, refused }
}

/** The same; undefined when the file has not answered a while after the signal aborted. */
async function unlessLeft<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise: left, resolve } = Promise.withResolvers<undefined>()
  let timer: Timer | undefined
  const leave = (): void => {
    timer = setTimeout(resolve, LEAVE_MS)
  }
  if (signal.aborted) leave()
  else signal.addEventListener("abort", leave)
  try {
    return await Promise.race([answer, left])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener("abort", leave)
  }
}

/** How often a broker that takes nothing is asked whether it does again. */
const POLL_MS = 50
const RETRY_MS = 200
/** How long a disk may take at the end. */
const LEAVE_MS = 1000
