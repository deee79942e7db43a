// Hot path where a pipeline's sender lists no outcomes: `add` is called for each event.
import { appendFile, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { readJson } from "../../json/read.ts"
import { asBuffer } from "../../json/tokens.ts"
import type { Handler } from "../../pipeline/compose.ts"
import type { Outcome } from "../../pipeline/outcome.ts"
import { makePrivateFolder } from "../../storage/private-files.ts"
import { HOUR_MS } from "./certificate.ts"
import { isRefusal, textAt } from "./listing.ts"

/*
 * The ids of events that ended here for good, with their outcomes, for senders whose lists do not say what they got: lines
 * `outcome<tab>id`, written once a second. What a crash loses is asked for again, and a Deduplicator drops it.
 */
const FLUSH_MS = 1000
/** Lines that wait while the store can't be written; further ones are dropped. */
const MOST_WAITING = 100_000

/** Stores lines by the hour. Hours are since 1970. */
export interface OutcomeStore {
  /** @param keptMs how long, at least */
  append(hour: number, lines: string, keptMs: number): Promise<void>
  /** Whole lines from an hour on, of all processes. */
  read(fromHour: number): AsyncIterable<string>
  /** Deletes all lines of all processes. */
  forget(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** In `reconcile-<id>.outcomes`, a file an hour and process: `<hour>-<process>`. */
export class OutcomeFolder implements OutcomeStore {
  readonly #folder: string
  #trimmedHour = 0

  constructor(directory: string, id: string) {
    this.#folder = join(directory, `reconcile-${id}.outcomes`)
  }

  async append(hour: number, lines: string, keptMs: number): Promise<void> {
    if (this.#trimmedHour === 0) makePrivateFolder(this.#folder)
    await appendFile(join(this.#folder, `${hour}-${process.pid}`), lines, { mode: 0o600 })
    if (hour === this.#trimmedHour) return
    this.#trimmedHour = hour
    for (const { name, at } of await this.#files())
      if (at < hour - keptMs / HOUR_MS) await rm(join(this.#folder, name), { force: true })
  }

  async *read(fromHour: number): AsyncIterable<string> {
    for (const { name, at } of await this.#files()) {
      if (at < fromHour) continue
      let rest = ""
      const decoder = new TextDecoder()
      for await (const chunk of Bun.file(join(this.#folder, name)).stream()) {
        const text = rest + decoder.decode(chunk, { stream: true })
        const end = text.lastIndexOf("\n") + 1
        rest = text.slice(end)
        yield text.slice(0, end)
      }
    }
  }

  async forget(): Promise<void> {
    for (const { name } of await this.#files()) await rm(join(this.#folder, name), { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #files(): Promise<{ readonly name: string; readonly at: number }[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return []
      throw error
    })
    return names.flatMap((name) => (/^\d+-\d+$/.test(name) ? [{ name, at: Number.parseInt(name) }] : []))
  }
}

/** The part of an index that one process writes. */
export class OutcomeWriter {
  readonly #store: OutcomeStore
  readonly #keptMs: number
  readonly #failed: (error: unknown) => void
  readonly #timer: Timer
  #lines: string[] = []
  #flushed: Promise<void> = Promise.resolve()

  /** @param keptMs how long outcomes are kept @param failed called when they could not be written; they are written later */
  constructor(store: OutcomeStore, keptMs: number, failed: (error: unknown) => void) {
    this.#store = store
    this.#keptMs = keptMs
    this.#failed = failed
    this.#timer = setInterval(() => void (this.#flushed = this.#flushed.then(() => this.#flush())), FLUSH_MS)
  }

  add(id: string, outcome: string): void {
    if (this.#lines.length < MOST_WAITING) this.#lines.push(`${outcome}\t${id}\n`)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#flushed
    await this.#flush()
    await this.#store[Symbol.asyncDispose]()
  }

  async #flush(): Promise<void> {
    const lines = this.#lines
    if (lines.length === 0) return
    this.#lines = []
    try {
      await this.#store.append(Math.floor(Date.now() / HOUR_MS), lines.join(""), this.#keptMs)
    } catch (error) {
      this.#lines = lines.concat(this.#lines)
      this.#failed(error)
    }
  }
}

/** Length of what the schema registry's form puts before a value. */
const SCHEMA_BYTES = 5

/** How an event ended for good; undefined: the sender should send it again. */
export function finalOutcome(outcome: Outcome): string | undefined {
  if (outcome.kind === "accepted") return "accepted"
  if (outcome.kind === "dropped") return outcome.reason === "duplicate" ? "duplicate" : "dropped"
  return isRefusal(outcome.status) ? `refused ${outcome.status}` : undefined
}

/** Bytes of a body in which its id is searched for before it is parsed. */
const SEARCHED = 512
const BRACKET = /[{[]/
const NOT_PLAIN = /[^\x20-\x7e]|\\/

/**
 * Reads the text at a JSON pointer: in 0.2 us where it is plain and comes before any object or list within the body, as it
 * does in what senders send, else in 0.7 us for 1 KB.
 *
 * @returns undefined: there is none, or it has a tab or line feed
 */
export function idReader(pointer: string): (body: Uint8Array) => string | undefined {
  const member = `"${pointer.slice(1)}":"`
  return (bytes) => {
    const body = asBuffer(bytes)
    const text = body.toString("latin1", 0, SEARCHED)
    const key = text.indexOf(member)
    const from = key + member.length
    const end = key < 0 ? -1 : text.indexOf('"', from)
    if (end > from && !BRACKET.test(text.slice(1, key))) {
      const id = body.toString("latin1", from, end)
      if (!NOT_PLAIN.test(id)) return id
    }
    const id = textAt(readJson(body), pointer)
    return id === undefined || /[\t\n]/.test(id) ? undefined : id
  }
}

/** The handler of a pipeline, whose verified events' outcomes are indexed. @param pointer to the event's id in its body */
export function indexed(handler: Handler, pointer: string, index: Pick<OutcomeWriter, "add">): Handler {
  const readId = idReader(pointer)
  return {
    ...handler,
    async handle(event, limits) {
      const outcome = await handler.handle(event, limits)
      // a forged request must not settle the event whose id it has
      if (event.request.isVerified !== true || event.request.failedVerification === true) return outcome
      const final = finalOutcome(outcome)
      if (final === undefined) return outcome
      const { body, schemaId } = event
      const id = readId(schemaId === undefined ? body : body.subarray(SCHEMA_BYTES))
      if (id !== undefined) index.add(id, final)
      return outcome
    },
  }
}
