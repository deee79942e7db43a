import type { Deadlines, Wait } from "../clock/deadlines.ts"
import type { Event, EventContext } from "./event.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Rejected } from "./outcome.ts"
import { unavailable } from "./service-unavailable.ts"

/** A processor or sink that ends at the event's deadline at the latest. */
export type Bounded<T> = (event: Event, deadline: EventDeadline) => T | Promise<T>

/** Bounds a part that does not end by itself. @param name for the log */
export function bounded<T>(
  part: { (event: Event, context: EventContext): T | Promise<T>; readonly isBounded?: boolean },
  name: string,
): Bounded<T | Rejected> {
  // built-in ones need no context
  if (part.isBounded === true) return part as unknown as Bounded<T>
  return (event, deadline) => {
    deadline.begin()
    const result = part(event, deadline.contextOf(event))
    return result instanceof Promise ? deadline.within(name, result) : result
  }
}

/**
 * The deadline of an event in the user's own processors and sinks, which have none by themselves. It counts from the first
 * of them; the built-in ones before it take microseconds, or end by themselves.
 */
export class EventDeadline {
  readonly #deadlines: Deadlines
  readonly #log: Logger | undefined
  /** Those of the event and its items, which share the deadline. */
  readonly #contexts = new Map<Event, Context>()
  #wait: Wait | undefined
  readonly #over = Promise.withResolvers<undefined>()
  #isOver = false
  #aborting: AbortController | undefined

  /** @param owner the pipeline; without a log where all its parts are built in, which get no context */
  constructor(owner: { readonly deadlines: Deadlines; readonly partsLog: Logger | undefined }) {
    this.#deadlines = owner.deadlines
    this.#log = owner.partsLog
  }

  contextOf(event: Event): EventContext {
    return this.#contexts.getOrInsertComputed(event, () => {
      const [first] = this.#contexts.values()
      // the first is another item where no part had a context for the list itself
      return new Context(event, this, this.#log, first?.isOfItem === false ? first : undefined)
    })
  }

  begin(): void {
    this.#wait ??= this.#deadlines.start(() => {
      this.#isOver = true
      this.#over.resolve(undefined)
      this.#aborting?.abort(new DOMException("the event's deadline has passed", "TimeoutError"))
    })
  }

  get signal(): AbortSignal {
    this.#aborting ??= new AbortController()
    return this.#aborting.signal
  }

  /** Resolves as the part does, or with 503 at the deadline, whatever the part resolves with later. @param part for the log */
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
    if (this.#wait !== undefined) this.#deadlines.end(this.#wait)
  }
}

/** The second argument of a user's processor or sink. Its log, state and signal are made on first use. */
class Context implements EventContext {
  readonly #event: Event
  readonly #deadline: EventDeadline
  readonly #pipelineLog: Logger | undefined
  readonly #ofList: Context | undefined
  #log: Logger | undefined
  #state: Map<string, unknown> | undefined

  constructor(event: Event, deadline: EventDeadline, log: Logger | undefined, ofList: Context | undefined) {
    this.#event = event
    this.#deadline = deadline
    this.#pipelineLog = log
    this.#ofList = ofList
  }

  get isOfItem(): boolean {
    return this.#event.list !== undefined
  }

  get state(): Map<string, unknown> {
    return (this.#state ??= new Map(this.#ofList?.state))
  }

  get signal(): AbortSignal {
    return this.#deadline.signal
  }

  get log(): Logger {
    return (this.#log ??= this.#pipelineLog!.child({ request_id: this.#event.request.id }))
  }
}
