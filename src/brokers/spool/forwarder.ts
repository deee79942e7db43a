import { pause } from "../../clock/clock.ts"
import { PublishError } from "../../errors.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { SpoolMetrics } from "../../telemetry/metrics.ts"
import type { StoredRecord } from "../broker.ts"
import type { SpoolDestination } from "./destination.ts"
import type { SpoolStore } from "./store.ts"

export interface SpoolParts {
  readonly destination: SpoolDestination
  readonly store: SpoolStore
  readonly log: Logger
  readonly metrics: SpoolMetrics
  /** Whether what the broker does not take is refused, and no longer spooled. */
  readonly isRetired: () => boolean
  readonly signal: AbortSignal
}

/** What a topic learns, and is asked, while its records are forwarded. */
export interface ForwardedTopic {
  /** What is forwarded next is all there is in the file. */
  readonly last: () => void
  /** The broker takes nothing now; why, if it was tried. */
  readonly delayed: (reason?: string) => void
  /** Resolves when some of what is on its way into the file is in it, or was refused; undefined: nothing is. */
  readonly stored: () => Promise<void> | undefined
  /** The broker took one, or refused it for good. */
  readonly progressed: () => void
}

/** Forwards a topic's records, oldest first. @returns how many, when none is left; undefined when the signal aborted */
export async function forwardTopic(
  topic: string,
  parts: SpoolParts,
  owner: ForwardedTopic,
): Promise<number | undefined> {
  const { store, signal } = parts
  let forwarded = 0
  for (;;) {
    await untilReady(parts, owner)
    if (signal.aborted) return undefined
    const window = await store.window(topic)
    if (signal.aborted) return undefined
    if (window === undefined) {
      await pause(RETRY_MS, signal)
      continue
    }
    if (window.isAll) owner.last()
    if (window.records.length > 0) {
      forwarded += await forwardWindow(window.records, topic, parts, owner)
      continue
    }
    const stored = owner.stored()
    if (stored === undefined) return forwarded
    await stored
  }
}

/** Publishes records, and deletes those at the front that are done. @returns how many were forwarded */
async function forwardWindow(
  records: readonly StoredRecord[],
  topic: string,
  parts: SpoolParts,
  owner: ForwardedTopic,
): Promise<number> {
  const { store, signal, log, metrics } = parts
  const open = new Set(records)
  const refused = new Map<number, string>()
  await publishAll(open, refused, topic, parts, owner)
  const end = records.findIndex((record) => open.has(record))
  const done = end < 0 ? records : records.slice(0, end)
  for (const { offset } of records.slice(done.length)) refused.delete(offset)
  const last = done.at(-1)
  if (last === undefined) return 0
  // until they can be deleted nothing more is forwarded
  while (!(await store.settle(topic, last.offset, refused))) {
    if (signal.aborted) return 0
    await pause(RETRY_MS, signal)
  }
  const forwarded = done.length - refused.size
  metrics.forwarded(forwarded)
  metrics.quarantined(refused.size)
  if (refused.size === 0) return forwarded
  const [reason] = refused.values()
  log.error(
    { topic, records: refused.size, reason },
    "QUARANTINED: the broker refuses spooled events for good; see hookline spool status",
  )
  return forwarded
}

/** Resolves when the broker takes events, or the signal aborts. */
async function untilReady({ destination, signal }: SpoolParts, owner: ForwardedTopic): Promise<void> {
  while (!signal.aborted && destination.ready() !== true) {
    owner.delayed()
    await pause(POLL_MS, signal)
  }
}

/**
 * Publishes records in their order, again and again, until the broker has acknowledged or refused each for good, or the
 * signal aborts.
 *
 * They have no deadlines, so that a batch of unknown fate goes out again as it was, and the broker knows it. When one
 * fails, those after it are cancelled before they are sent: none overtakes an older one of its key. A broker that another
 * has replaced fails what it has not settled in time, and the other gets it.
 *
 * @param open the records; those that are done are removed
 * @param refused takes why some were refused, by offset
 */
async function publishAll(
  open: Set<StoredRecord>,
  refused: Map<number, string>,
  topic: string,
  parts: SpoolParts,
  owner: ForwardedTopic,
): Promise<void> {
  const { destination, signal, log } = parts
  while (open.size > 0 && !signal.aborted) {
    const { broker } = destination
    let trouble: PublishError | undefined
    const publishOne = async (record: StoredRecord): Promise<void> => {
      try {
        await broker.publish(record, Number.POSITIVE_INFINITY)
        open.delete(record)
        owner.progressed()
      } catch (error) {
        if (!(error instanceof PublishError))
          log.error({ topic, err: error }, "unhandled error while forwarding a spooled event")
        if (!(error instanceof PublishError && error.retryHelps)) {
          refused.set(record.offset, error instanceof Error ? error.message : String(error))
          open.delete(record)
          owner.progressed()
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
      owner.delayed(trouble.message)
      await pause(RETRY_MS, signal)
      await untilReady(parts, owner)
    }
  }
}

/** How often a broker that takes nothing is asked whether it does again. */
const POLL_MS = 50
const RETRY_MS = 200
