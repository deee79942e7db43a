// Hot path: one for every webhook.
import { steadyMs } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { QuickCheck } from "./quick-check.ts"
import type { DedupeKey } from "./record.ts"
import type { RequestInfo } from "./request-info.ts"
import { TOPIC_NAME } from "./topic-name.ts"
import type { TopicSchemas } from "./topic-schemas.ts"
import type { Accepted, Admission, Dropped, Ended, Outcome, Rejected } from "./outcome.ts"

export type { RequestInfo } from "./request-info.ts"

/** The place of an item in a list. */
interface ListPlace {
  /** The first is 0. */
  readonly index: number
  /** The dedupe keys of items that are to be published, shared by all items. */
  readonly keys: Map<string, Event>
}

/** Called when an event has ended. @param outcome the sender's answer; undefined: a fault */
export type Settled = (outcome: Outcome | undefined) => void | Promise<void>

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** One webhook call on its way through a pipeline. */
export class Event {
  readonly request: RequestInfo
  /** The body as received, decompressed; at the sink, `body`. */
  receivedBody: Uint8Array
  /** When the header section arrived, in milliseconds since 1970. */
  readonly receivedAtMs: number
  /** @internal When the whole request arrived, by the steady clock: the start of the delivery timeout. */
  readonly arrivedMs: number
  /** @internal Whether the body may only be read as a form: the signature covers the form's parameters alone. */
  isForm = false
  /** @internal Whether `receivedBody` is kept after the sink, for a capture of the request. */
  keepsReceivedBody = false
  /** @internal Whether `receivedBody` is no longer what was received. */
  isReleased = false
  /** @internal The request's share of the in-flight budget; undefined: it has none. */
  memory: { grow(bytes: number): boolean } | undefined
  /** @internal The key that this is the first event of; a log in the key store's folder writes both in one transaction. */
  dedupeKey: DedupeKey | undefined
  /** @internal The registry's id of the schema that the body matches, which its record names; undefined: none is asked for. */
  schemaId: number | undefined
  /** @internal Further topics that its record goes to; `topic` is set, too. */
  otherTopics: readonly string[] | undefined
  /** @internal What `headers` returns, once it was asked for. */
  recordHeaders: Map<string, Uint8Array | string> | undefined
  /** @internal Whether `receivedBody` is published, unless a step other than the Decoder has set `body`. */
  publishesReceived = false
  /** @internal Its place in the list that it was split from; undefined: in none. */
  list: ListPlace | undefined
  #body: Uint8Array
  #isChanged = false
  #topic: string | undefined
  #key: Uint8Array | undefined
  #settled: Settled[] | undefined
  #parsed: { readonly body: Uint8Array; readonly value: unknown } | undefined

  /** @internal */
  constructor(request: RequestInfo, body: Uint8Array, receivedAtMs = Date.now(), arrivedMs = steadyMs()) {
    this.request = request
    this.#body = body
    this.receivedBody = body
    this.receivedAtMs = receivedAtMs
    this.arrivedMs = arrivedMs
  }

  /** The body's bytes: received and decompressed, then as processors change them. Text is set as UTF-8. */
  get body(): Uint8Array {
    return this.#body
  }

  /** @throws HooklineError `internal` for what is neither bytes nor text */
  set body(body: Uint8Array | string) {
    this.#isChanged = true
    this.#body = toBytes(body, "event.body", "; JSON.stringify makes text of an object")
  }

  /** @internal The received body in another form, which says the same: set by the Decoder. */
  decode(body: Uint8Array): void {
    this.#body = body
  }

  /** The topic that a step chose; undefined: the sink's. */
  get topic(): string | undefined {
    return this.#topic
  }

  /** @throws HooklineError `internal` for what no topic can be called */
  set topic(name: string | undefined) {
    if (name !== undefined && !(typeof name === "string" && TOPIC_NAME.pattern.test(name)))
      throw new HooklineError(
        "internal",
        `event.topic was set to ${JSON.stringify(name)}, which is not ${TOPIC_NAME.form}`,
      )
    this.#topic = name
  }

  /** The key of its record that a step set; undefined: what the sink's `key` says. Text is set as UTF-8. */
  get key(): Uint8Array | undefined {
    return this.#key
  }

  /** @throws HooklineError `internal` for what is neither bytes nor text */
  set key(key: Uint8Array | string | undefined) {
    this.#key = key === undefined ? undefined : toBytes(key, "event.key")
  }

  /** Headers of its record in addition to the sink's, by name: `event.headers.set("tenant", "acme")`. Text is UTF-8. */
  get headers(): Map<string, Uint8Array | string> {
    return (this.recordHeaders ??= new Map())
  }

  /**
   * The body as JSON: parsed on first use, and again after `body` is set. Changes to the value do not change `body`.
   *
   * @throws SyntaxError or TypeError when the body is not JSON in UTF-8; never after a Validator
   */
  json<T = unknown>(): T {
    if (this.#parsed?.body !== this.body)
      this.#parsed = { body: this.body, value: JSON.parse(utf8.decode(this.body)) }
    return this.#parsed!.value as T
  }

  /**
   * Takes more of the in-flight budget, for what a processor makes of the body: a larger one, or many events.
   *
   * @returns false: too little is free
   */
  reserve(bytes: number): boolean {
    return this.memory === undefined || this.memory.grow(bytes)
  }

  /**
   * An event for each item of a list, returned by a processor in place of the list's; pipeline/list.ts has what becomes
   * of them.
   *
   * @param bodies bytes of each, which may be parts of this event's, or text
   */
  split(bodies: readonly (Uint8Array | string)[]): Event[] {
    const keys = new Map<string, Event>()
    return bodies.map((body, index) => {
      const bytes = toBytes(body, "an item of event.split")
      const item = new Event(this.request, bytes, this.receivedAtMs, this.arrivedMs)
      item.list = { index, keys }
      return item
    })
  }

  /**
   * @internal For the pipeline: releases what only processors read, so that an event that waits at the sink holds one body; two
   * where the received one is kept and the in-flight budget has capacity for it.
   */
  release(): void {
    this.#parsed = undefined
    if (this.publishesReceived) return
    if (this.keepsReceivedBody && this.reserve(this.receivedBody.length)) return
    this.receivedBody = this.body
    this.isReleased = true
  }

  /** @internal For the sink, once it has read what it needs of `body`: what is published takes its place. */
  restoreReceived(): void {
    if (!this.#isChanged) this.#body = this.receivedBody
    this.publishesReceived = false
    this.release()
  }

  /**
   * Registers a function called once when the event has ended, in any way. The answer waits for its promise; an error
   * is logged.
   */
  onSettled(settled: Settled): void {
    if (this.#settled === undefined) this.#settled = [settled]
    else this.#settled.push(settled)
  }

  /**
   * @internal For the pipeline: calls all `onSettled` functions before it awaits any, so that their writes share a commit. Errors
   * are isolated.
   *
   * @returns undefined: all have ended
   */
  settle(
    outcome: Outcome | undefined,
    failed: (error: unknown, event: Event) => void,
  ): Promise<unknown> | undefined {
    if (this.#settled === undefined) return undefined
    const fail = (error: unknown): void => failed(error, this)
    const pending: Promise<void>[] = []
    for (const settled of this.#settled) {
      try {
        const writing = settled(outcome)
        if (writing !== undefined) pending.push(Promise.resolve(writing).catch(fail))
      } catch (error) {
        fail(error)
      }
    }
    return pending.length === 0 ? undefined : Promise.all(pending)
  }
}

/** @throws HooklineError `internal` for what is neither bytes nor text */
export function toBytes(value: unknown, what: string, advice = ""): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === "string") return Buffer.from(value)
  const problem = `${what} is ${value === null ? "null" : `of type ${typeof value}`}`
  const remedy = `it must be bytes (Uint8Array), or text, which becomes UTF-8${advice}`
  throw new HooklineError("internal", `${problem}: ${remedy}`)
}

/** The result of a processor: the event, or how it ends. */
export type Passed = Event | readonly Event[] | Ended

/** Passed to a processor or sink with each event. */
export interface EventContext {
  /** Aborted at the event's deadline, `delivery_timeout` after its body arrived: for `fetch` and whatever else waits. */
  readonly signal: AbortSignal
  /** The pipeline's log; its lines have the request's id. */
  readonly log: Logger
  /** Values that processors and the sink keep for each other, by name. Events that one was split into begin with a copy. */
  readonly state: Map<string, unknown>
}

/**
 * A step of a pipeline: returns the event, changed or not, the events that it was split into (`event.split`), or an outcome
 * that ends it. Errors are faults, answered 500. One that has not ended at the event's deadline is answered 503.
 * A synchronous step costs no promise.
 *
 * A plain function is one; `Object.assign` adds the optional members.
 */
export interface Processor {
  (event: Event, context: EventContext): Passed | Promise<Passed>
  /** Judges a request before a byte of its body is read. */
  readonly admit?: ((request: RequestInfo) => Admission | Promise<Admission>) | undefined
  /** Methods other than POST whose requests `admit` may answer. */
  readonly methods?: readonly string[]
  /** The answer to accepted events where the source has no body of its own. */
  readonly response?: { readonly body: string; readonly contentType: string } | undefined
  /** The outcomes that it may end events with, so that their counters begin at 0; one that is not declared is counted from its first event on. */
  readonly outcomes?: readonly Ended[]
  /** @internal Whether it ends within the event's deadline by itself. */
  readonly isBounded?: boolean
  /** Whether it splits events. */
  readonly splits?: boolean
  /** Whether only verified senders' requests pass; set from the component. */
  readonly verifies?: boolean
  /** @internal Of a processor that verifies; undefined: checking a request takes more. */
  readonly quickCheck?: QuickCheck | undefined
}

/** The end of a pipeline: resolves with the outcome; Accepted only once the event is durably published. */
export interface Publisher {
  (event: Event, context: EventContext): Promise<Accepted | Rejected>
  /** @internal As `Processor.isBounded`. */
  readonly isBounded?: boolean
  /** Checks each event after all processors, before it, or a list that it is in, is published. */
  readonly judge?: Processor | undefined
  /** @internal The registered schemas of the topics; undefined: events need none. */
  readonly schemas?: TopicSchemas | undefined
  /** See `Processor.outcomes`. */
  readonly outcomes?: readonly Rejected[]
  /**
   * Publishes the received body of an event as a dead letter, with the outcome's reason; undefined: none are kept.
   * Called for verified senders' events only.
   */
  readonly deadLetter?:
    | ((event: Event, outcome: Rejected | Dropped) => Promise<Accepted | Rejected>)
    | undefined
}
