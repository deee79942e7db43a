import { Backoff } from "../../clock/backoff.ts"
import { steadyMs, within } from "../../clock/clock.ts"
import type { TopicSchemas } from "../../pipeline/topic-schemas.ts"
import type { Logger } from "../../telemetry/log.ts"
import { RegistryUnavailable, type SchemaRegistry, type SubjectSchema } from "./schema-registry.ts"

/*
 * The schemas of a pipeline's topics: of each the latest version of the subject `<topic>-value`.
 *
 *     new  -- fetched -->  current  -- every `refreshMs` -->  current
 *      |                      |
 *      +-- failed --> missing, fetched again after a pause that doubles    (a failure later: the current one stays in use)
 *
 * One request is under way at a time. A registry that does not answer is asked for nothing before the pause is over. An event
 * whose schema is new waits for it; one whose schema is missing is refused at once.
 */

const RETRY_MS = { first: 500, longest: 10_000 } as const

interface Subject {
  readonly name: string
  schema: SubjectSchema | undefined
  /** Why the last fetch failed. */
  problem: string | undefined
  dueMs: number
  readonly pauses: Backoff
  readonly fetched: PromiseWithResolvers<void>
}

export class SubjectSchemas implements TopicSchemas {
  readonly #registry: SchemaRegistry
  readonly #refreshMs: number
  readonly #log: Logger
  /** By topic. */
  readonly #subjects = new Map<string, Subject>()
  /** Why the registry is unreachable, and until when it is asked for nothing; undefined while it answers. */
  #outage: { readonly reason: string; readonly untilMs: number } | undefined
  readonly #pauses = new Backoff(RETRY_MS)
  #fetching = false
  #timer: Timer | undefined
  #closed = false

  constructor(registry: SchemaRegistry, refreshMs: number, log: Logger) {
    this.#registry = registry
    this.#refreshMs = refreshMs
    this.#log = log
  }

  /** Hot path. undefined: call `wait`. */
  current(topic: string): SubjectSchema | undefined {
    return this.#subjects.get(topic)?.schema
  }

  /** Waits for the first fetch of a topic's schema, until a time by the steady clock. @returns the reason for none */
  async wait(topic: string, untilMs: number): Promise<SubjectSchema | string> {
    const subject = this.#add(topic)
    this.#next()
    await within(untilMs - steadyMs(), subject.fetched.promise, () => {})
    return subject.schema ?? this.#problemOf(subject)
  }

  prepare(topics: readonly string[]): void {
    const wanted = new Set(topics)
    for (const topic of this.#subjects.keys()) if (!wanted.has(topic)) this.#subjects.delete(topic)
    for (const topic of topics) this.#add(topic)
    this.#next()
  }

  missing(): readonly { readonly topic: string; readonly problem: string }[] {
    return [...this.#subjects].flatMap(([topic, subject]) =>
      subject.schema === undefined ? [{ topic, problem: `topic ${topic}: ${this.#problemOf(subject)}` }] : [],
    )
  }

  async reach(topics: readonly string[]): ReturnType<TopicSchemas["reach"]> {
    const answers = []
    for (const topic of topics) {
      const subject = subjectOf(topic)
      try {
        const { id, version } = await this.#registry.latest(subject, undefined, () => {})
        answers.push({ answer: `subject ${subject}: version ${version}, schema id ${id}`, isUsable: true })
      } catch (error) {
        const { message } = error as Error
        if (!(error instanceof RegistryUnavailable))
          answers.push({ answer: `subject ${subject} ${message}`, isUsable: false })
        else return [...answers, { answer: `can't be used: ${message}`, isUsable: false }]
      }
    }
    return answers
  }

  get url(): string {
    return this.#registry.url
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #add(topic: string): Subject {
    let subject = this.#subjects.get(topic)
    if (subject === undefined) {
      subject = {
        name: subjectOf(topic),
        schema: undefined,
        problem: undefined,
        dueMs: 0,
        pauses: new Backoff(RETRY_MS),
        fetched: Promise.withResolvers(),
      }
      this.#subjects.set(topic, subject)
      // nothing waits for a registry that is known to be unavailable
      if (this.#outage !== undefined) subject.fetched.resolve()
    }
    return subject
  }

  #problemOf({ name, problem }: Subject): string {
    if (this.#outage !== undefined) return `the schema registry is unavailable: ${this.#outage.reason}`
    return problem === undefined
      ? `the schema of ${name} is not fetched yet`
      : `the subject ${name} ${problem}`
  }

  /** Fetches what is due, one after another, and waits for what is due next. */
  #next(): void {
    if (this.#closed || this.#fetching) return
    clearTimeout(this.#timer)
    let first: Subject | undefined
    for (const subject of this.#subjects.values())
      if (first === undefined || subject.dueMs < first.dueMs) first = subject
    if (first === undefined) return
    const waitMs = Math.max(first.dueMs, this.#outage?.untilMs ?? 0) - steadyMs()
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.#next(), waitMs)
      return
    }
    this.#fetching = true
    void this.#fetch(first).finally(() => {
      this.#fetching = false
      this.#next()
    })
  }

  /** Never rejects. */
  async #fetch(subject: Subject): Promise<void> {
    const { name } = subject
    try {
      const warn = (message: string): void => this.#log.warn({ subject: name }, `JSON Schema: ${message}`)
      this.#take(subject, await this.#registry.latest(name, subject.schema, warn))
      this.#answered()
    } catch (error) {
      const { message } = error as Error
      if (error instanceof RegistryUnavailable) this.#failed(message)
      else {
        this.#answered()
        this.#refused(subject, message)
      }
    }
  }

  #take(subject: Subject, schema: SubjectSchema): void {
    const { name, schema: before, problem } = subject
    subject.schema = schema
    subject.problem = undefined
    subject.pauses.reset()
    subject.dueMs = steadyMs() + this.#refreshMs
    subject.fetched.resolve()
    if (schema === before && problem === undefined) return
    const { id, version } = schema
    this.#log.info({ subject: name, version, schema_id: id }, "schema in use")
  }

  #refused(subject: Subject, problem: string): void {
    const { name, schema } = subject
    subject.dueMs = steadyMs() + subject.pauses.failed()
    subject.fetched.resolve()
    if (subject.problem === problem) return
    subject.problem = problem
    const line = { subject: name, reason: problem, registry: this.url }
    if (schema === undefined)
      this.#log.error(line, "no usable schema; events get 503 until the subject has one")
    else
      this.#log.warn(
        { ...line, version: schema.version },
        "latest schema not usable; the previous one stays in use",
      )
  }

  #answered(): void {
    if (this.#outage !== undefined) this.#log.info({ registry: this.url }, "schema registry available")
    this.#outage = undefined
    this.#pauses.reset()
  }

  #failed(reason: string): void {
    const logged = this.#outage?.reason
    this.#outage = { reason, untilMs: steadyMs() + this.#pauses.failed() }
    const all = [...this.#subjects.values()]
    for (const { fetched } of all) fetched.resolve()
    if (logged === reason) return
    const missing = all.filter(({ schema }) => schema === undefined).map(({ name }) => name)
    const line = { registry: this.url, reason, ...(missing.length > 0 && { missing: missing.slice(0, 10) }) }
    if (missing.length > 0)
      this.#log.error(line, "schema registry unavailable; retrying; events of the missing subjects get 503")
    else this.#log.warn(line, "schema registry unavailable; retrying; cached schemas stay in use")
  }
}

/** By the TopicNameStrategy. */
const subjectOf = (topic: string): string => `${topic}-value`
