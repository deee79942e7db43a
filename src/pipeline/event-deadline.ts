import type { Deadlines, Wait } from "../clock/deadlines.ts"
import type { Event, EventContext, Passed, Processor, Publisher } from "./event.ts"
import type { Accepted, Rejected } from "./outcome.ts"
import { unavailable } from "./unavailable.ts"

/** For parts that end by themselves. */
const NO_DEADLINE: EventContext = { signal: new AbortController().signal }

/** Runs the n-th processor, from 0; one that has no deadline of its own ends at the event's. */
export function runProcessor(
  processor: Processor,
  n: number,
  event: Event,
  deadlineOf: () => EventDeadline,
): Passed | Promise<Passed> {
  if (processor.isBounded === true) return processor(event, NO_DEADLINE)
  const deadline = deadlineOf()
  const result = processor(event, deadline)
  return result instanceof Promise
    ? deadline.within(`processor ${n + 1}${nameOf(processor)}`, result)
    : result
}

/** The same for the sink. */
export function publishEvent(
  publish: Publisher,
  event: Event,
  deadlineOf: () => EventDeadline,
): Promise<Accepted | Rejected> {
  if (publish.isBounded === true) return publish(event, NO_DEADLINE)
  const deadline = deadlineOf()
  return deadline.within("the sink", publish(event, deadline))
}

const nameOf = ({ name }: Processor): string => (name === "" ? "" : ` (${name})`)

/**
 * The deadline of an event in the user's own processors and sinks, which have none by themselves. It counts from the first
 * of them; the built-in ones before it take microseconds, or end by themselves.
 */
export class EventDeadline implements EventContext {
  readonly #deadlines: Deadlines
  readonly #wait: Wait
  readonly #over = Promise.withResolvers<undefined>()
  #isOver = false
  #aborting: AbortController | undefined

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines
    this.#wait = deadlines.start(() => {
      this.#isOver = true
      this.#over.resolve(undefined)
      this.#aborting?.abort(new DOMException("the event's deadline has passed", "TimeoutError"))
    })
  }

  get signal(): AbortSignal {
    this.#aborting ??= new AbortController()
    return this.#aborting.signal
  }

  /** What a part resolves with; at the deadline 503, whatever it resolves with later. @param part for the log */
  async within<T>(part: string, answer: Promise<T>): Promise<T | Rejected> {
    // what waited for its signal may reject before this is resumed
    const failed = (error: unknown): undefined => {
      if (!this.#isOver) throw error
    }
    const result = await Promise.race([answer.catch(failed), this.#over.promise])
    return this.#isOver
      ? unavailable("deadline", `${part} did not end within delivery_timeout`)
      : (result as T)
  }

  end(): void {
    this.#deadlines.end(this.#wait)
  }
}
