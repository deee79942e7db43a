import { steadyMs } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import { keepDeadLetter, type DeadLetters } from "./dead-letters.ts"
import type { Bounded, EventDeadline } from "./event-deadline.ts"
import type { Event, Passed } from "./event.ts"
import { decisive, Dropped, isForAll, Rejected, type Accepted, type Ended, type Outcome } from "./outcome.ts"

/*
 * The items of a list, published as one unit:
 *
 *   judge    Each item passes the processors after the one that split the list, in the list's order, one at a time. The
 *            first that is refused refuses the list: nothing is published. One that is dropped ends alone.
 *   publish  All others, in the list's order; then all acknowledgements are awaited. If one is missing, the answer is its
 *            refusal, a 503 before any other, though other items may be in the log.
 *
 * An item's onSettled functions get its own outcome, or the list's where that ended first. A dead letter is the list as
 * received, once.
 */

/** The pipeline whose list it is. */
export interface ListSteps extends DeadLetters {
  readonly steps: readonly Bounded<Passed>[]
  /** See `Parts`: a list is split after the steps that verify senders. */
  readonly verifiedFrom: number | undefined
  readonly publish: Bounded<Accepted | Rejected>
  readonly metrics: Pick<PipelineMetrics, "acknowledged" | "listItem" | "deadLetter">
  /** @throws HooklineError `internal` for what is no outcome */
  checkEnd(result: Passed): Ended
  settle(event: Event, outcome: Outcome | undefined): Promise<unknown> | undefined
}

/** @internal Runs the items of a list through the steps from `from` on. Rejects with a part's error: a fault. */
export async function handleList(
  pipeline: ListSteps,
  list: Event,
  items: readonly Event[],
  from: number,
  deadline: EventDeadline,
): Promise<Outcome> {
  const { verifiedFrom = 0, metrics } = pipeline
  if (from <= verifiedFrom)
    throw new HooklineError("internal", "a list was split by a processor that stands before the Verifier")
  const open = new Set(items)
  const settling: (Promise<unknown> | undefined)[] = []
  const end = (item: Event, outcome: Outcome | undefined): void => {
    open.delete(item)
    settling.push(pipeline.settle(item, outcome))
    const { kind = "rejected" } = outcome ?? {}
    metrics.listItem(
      kind,
      outcome === undefined ? "internal" : outcome.kind === "accepted" ? "" : outcome.reason,
    )
  }
  let outcome: Outcome | undefined
  try {
    const passed: Numbered[] = []
    let dropped: Dropped | undefined
    let hasDeadLetter = false
    for (const [index, item] of items.entries()) {
      const result = await judge(pipeline, item, from, deadline)
      if (result === item) {
        passed.push([index, item])
        continue
      }
      const ended = locate(pipeline.checkEnd(result), index)
      const answer: Ended = hasDeadLetter ? ended : await keepDeadLetter(pipeline, list, ended)
      if (!(answer instanceof Dropped)) return (outcome = answer)
      hasDeadLetter ||= answer.isInvalid
      dropped ??= answer
      // now, and not with the others: a dedupe key that it held is free for a later item
      end(item, answer)
    }
    list.body = NOTHING
    list.release()
    const results = await Promise.allSettled(passed.map((it) => publishItem(pipeline, it, deadline)))
    for (const [i, result] of results.entries())
      end(passed[i]![1], result.status === "fulfilled" ? result.value : undefined)
    const fault = results.find((result) => result.status === "rejected")
    if (fault !== undefined) throw fault.reason
    const outcomes = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []))
    return (outcome = decisive(outcomes) ?? dropped ?? EMPTY_LIST)
  } finally {
    for (const item of open) end(item, outcome)
    await Promise.all(settling)
  }
}

/** The item itself: it is to be published. */
async function judge(
  { steps }: ListSteps,
  item: Event,
  from: number,
  deadline: EventDeadline,
): Promise<Passed> {
  for (const step of steps.slice(from)) {
    let result = step(item, deadline)
    if (result instanceof Promise) result = await result
    if (Array.isArray(result)) throw new HooklineError("internal", "a list's item was split again")
    if (result !== item) return result
  }
  return item
}

async function publishItem(
  { publish, metrics }: ListSteps,
  [index, item]: Numbered,
  deadline: EventDeadline,
): Promise<Accepted | Rejected> {
  item.release()
  const outcome = await publish(item, deadline)
  if (outcome.kind !== "accepted") return isForAll(outcome) ? outcome : (locate(outcome, index) as Rejected)
  metrics.acknowledged(steadyMs() - item.arrivedMs)
  return outcome
}

type Numbered = readonly [index: number, item: Event]

const NOTHING = new Uint8Array()
export const EMPTY_LIST = new Dropped("empty_list", "a list without items")

/** The outcome with the item's position in the list, from 0. */
function locate(outcome: Ended, index: number): Ended {
  const at = `Item ${index} of the list: `
  if (outcome instanceof Rejected) {
    const { status, reason, detail, logDetail } = outcome
    return new Rejected(status, reason, at + detail, { ...outcome, logDetail: logDetail && at + logDetail })
  }
  if (outcome instanceof Dropped)
    return new Dropped(outcome.reason, at + (outcome.detail ?? "dropped"), outcome)
  return outcome
}
