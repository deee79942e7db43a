import { once } from "node:events"
import type { LogReader, OffsetRange, StoredRecord } from "../brokers/broker.ts"
import { lastRecords } from "../brokers/records-before.ts"
import { mergeByTime } from "../brokers/merge-by-time.ts"
import type { Matches } from "../brokers/record-filter.ts"
import { HooklineError } from "../errors.ts"
import { Application } from "../runtime/application.ts"
import { maskHeader } from "../verify/masking.ts"
import { withoutSchemaId } from "../json/schema-id.ts"
import { isColoured, painter } from "../process/colours.ts"
import type { OffsetFlag } from "./flag-values.ts"
import { Interruption } from "./interruption.ts"
import { placesIn, type NamedTopic } from "./connections-of.ts"
import { toPretty } from "./pretty-record.ts"
import { toJsonLine, toRaw, toValue, type RecordFormat } from "./record-formats.ts"
import { WaitingNotes } from "./waiting.ts"
import { untilAvailable, type Awaiting } from "../replay/until-available.ts"

export interface TailFlags {
  readonly config?: string
  readonly connection?: string
  /** The last ones of each topic; undefined: `LINES_ON_TERMINAL`, or all where the output is no terminal. */
  readonly lines?: number
  readonly begin?: "beginning" | "end"
  readonly offset?: readonly OffsetFlag[]
  readonly since?: number
  readonly until?: number
  readonly where?: readonly Matches[]
  readonly follow?: true
  readonly format?: RecordFormat
}

const LINES_ON_TERMINAL = 20
/** How often a log or topic that is waited for is polled. */
const WAIT_MS = 250

/**
 * Prints records of topics, merged by time; ends at the end of the log, or with `follow` at an interrupt. What does not
 * exist yet is then waited for.
 *
 * @throws HooklineError `config`, `usage`, `no_input`, and unless it follows `no_log`, `no_topic`, `unavailable`
 */
export async function tail(topics: readonly NamedTopic[], flags: TailFlags): Promise<void> {
  using interruption = new Interruption()
  const { signal } = interruption
  try {
    const logs = new TailedLogs(flags, signal)
    try {
      const found = await logs.open(topics)
      if (found !== undefined) await new Tail(flags, signal).print(found)
    } finally {
      await logs.close()
    }
  } finally {
    // What was written and nobody reads would keep the process. An interrupt is how following ends; printing what the log
    // holds is cut short by it.
    if (signal.aborted) process.exit(flags.follow === true ? 0 : interruption.status)
  }
}

/** A topic in the log of its connection. */
interface LoggedTopic {
  readonly name: string
  readonly reader: LogReader
  /** The log itself was waited for. */
  readonly isNew: boolean
}

interface TailedTopic extends LoggedTopic {
  readonly awaiting: Awaiting & { readonly notes: WaitingNotes }
}

/** The logs of the connections that topics are of, each opened once. */
class TailedLogs {
  readonly #flags: TailFlags
  readonly #signal: AbortSignal
  readonly #open: LogReader[] = []

  constructor(flags: TailFlags, signal: AbortSignal) {
    this.#flags = flags
    this.#signal = signal
  }

  /** @returns each topic once; undefined: interrupted while a log was waited for */
  async open(topics: readonly NamedTopic[]): Promise<readonly LoggedTopic[] | undefined> {
    const app = Application.fromFile(this.#flags.config)
    const places = placesIn(app, topics, this.#flags)
    const byConnection = Map.groupBy(places, ({ connection }) => connection)
    const found = await Promise.all(
      [...byConnection].map(async ([connection, of]) => {
        const log = await this.#openLog(app, connection)
        return log && [...new Set(of.map(({ topic }) => topic))].map((name) => ({ name, ...log }))
      }),
    )
    return found.includes(undefined) ? undefined : found.flatMap((it) => it ?? [])
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map((reader) => reader.close()))
  }

  async #openLog(app: Application, connection: string): Promise<Omit<LoggedTopic, "name"> | undefined> {
    let isNew = false
    const reader = await untilAvailable(() => app.openReader(connection), {
      notes: new WaitingNotes(),
      signal: this.#signal,
      everyMs: WAIT_MS,
      mayPass: ({ retryHelps }) => this.#flags.follow === true && retryHelps,
      beforeWait: () => void (isNew = true),
    })
    if (reader === undefined) return undefined
    this.#open.push(reader)
    return { reader, isNew }
  }
}

class Tail {
  readonly #flags: TailFlags
  /** Ends following once one topic has failed. */
  readonly #failed = new AbortController()
  readonly #signal: AbortSignal
  readonly #matches: Matches | undefined
  readonly #show: (record: StoredRecord) => string | Uint8Array

  constructor(flags: TailFlags, signal: AbortSignal) {
    this.#flags = flags
    this.#signal = AbortSignal.any([signal, this.#failed.signal])
    const { where } = flags
    this.#matches = where && ((record) => where.every((matches) => matches(record)))
    this.#show = formatter(flags.format)
  }

  async print(logged: readonly LoggedTopic[]): Promise<void> {
    const signal = this.#signal
    const follow = this.#flags.follow === true
    const topics = logged.map((topic) => ({
      ...topic,
      awaiting: { notes: new WaitingNotes(), signal, everyMs: WAIT_MS },
    }))
    const found = await Promise.all(topics.map((topic) => this.#find(topic)))
    const histories = topics.flatMap(({ name, reader }, at) => {
      const ranges = found[at]
      return ranges === undefined ? [] : [reader.read(name, ranges, { retries: follow, signal })]
    })
    await this.#printAll(mergeByTime(histories))
    if (!follow) return
    try {
      await Promise.all(topics.map((topic, at) => this.#follow(topic, found[at])))
    } finally {
      this.#failed.abort()
    }
  }

  /** What is to be read of what a topic holds; undefined: the topic does not exist yet. */
  async #find(topic: TailedTopic): Promise<OffsetRange[] | undefined> {
    const { awaiting } = topic
    const follows = this.#flags.follow === true
    try {
      const mayPass = ({ code, retryHelps }: HooklineError): boolean =>
        follows && retryHelps && code !== "no_topic"
      return await untilAvailable(() => this.#select(topic, topic.isNew), { ...awaiting, mayPass })
    } catch (error) {
      if (!follows || !(error instanceof HooklineError) || error.code !== "no_topic") throw error
      awaiting.notes.note(error.message)
      return undefined
    }
  }

  async #follow(topic: TailedTopic, found: readonly OffsetRange[] | undefined): Promise<void> {
    const { name, reader, awaiting } = topic
    const ranges =
      found?.map((range) => ({ ...range, first: range.end })) ??
      (await untilAvailable(() => this.#select(topic, true), {
        ...awaiting,
        mayPass: ({ retryHelps }) => retryHelps,
      }))
    const open = (ranges ?? []).map((range) => ({ ...range, end: Number.POSITIVE_INFINITY }))
    await this.#printAll(reader.read(name, open, { retries: true, signal: this.#signal }))
  }

  /** @param isNew the topic was waited for, so that all of it is new */
  async #select({ name: topic, reader }: LoggedTopic, isNew: boolean): Promise<OffsetRange[]> {
    const { since, until, begin, offset, lines } = this.#flags
    const ranges = await reader.ranges(topic, { sinceMs: since, untilMs: until })
    if (offset !== undefined) return beginAt(topic, ranges, offset)
    if (isNew || begin === "beginning") return ranges
    const isBounded = since !== undefined || process.stdout.isTTY !== true
    const count = begin === "end" ? 0 : (lines ?? (isBounded ? undefined : LINES_ON_TERMINAL))
    if (count === undefined) return ranges
    return lastRecords(reader, topic, ranges, count, this.#matches, this.#signal)
  }

  async #printAll(records: AsyncIterable<StoredRecord>): Promise<void> {
    const signal = this.#signal
    for await (const record of records) {
      if (signal.aborted) return
      if (this.#matches?.(record) === false) continue
      if (process.stdout.write(this.#show(record))) continue
      await once(process.stdout, "drain", { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
    }
  }
}

/** Narrows ranges to offsets, and to the partitions that those name, if any. */
function beginAt(
  topic: string,
  ranges: readonly OffsetRange[],
  offsets: readonly OffsetFlag[],
): OffsetRange[] {
  const unknown = offsets.find(
    (it) => it.partition !== undefined && !ranges.some((range) => range.partition === it.partition),
  )
  if (unknown !== undefined)
    throw new HooklineError(
      "usage",
      `topic ${topic} has no partition ${unknown.partition}; it has ${ranges.length}`,
    )
  const every = offsets.findLast(({ partition }) => partition === undefined)
  return ranges.flatMap((range) => {
    const begin = offsets.findLast(({ partition }) => partition === range.partition) ?? every
    return begin === undefined
      ? []
      : [{ ...range, first: Math.min(Math.max(begin.offset, range.first), range.end) }]
  })
}

/** Values are untrusted: their own bytes are written where `raw` is asked for, and never to a terminal. */
function formatter(asked: RecordFormat | undefined): (record: StoredRecord) => string | Uint8Array {
  const isTerminal = process.stdout.isTTY === true
  switch (asked ?? (isTerminal ? "pretty" : "value")) {
    case "pretty": {
      const paint = painter(isColoured(isTerminal, process.env))
      return (record) => toPretty(shown(record), paint)
    }
    case "json":
      return (record) => toJsonLine(shown(record))
    case "raw":
      return isTerminal ? toValue : toRaw
    case "value":
      return (record) => toValue(shown(record))
  }
}

/** As the admin page shows it: credentials in headers are masked. */
const shown = (record: StoredRecord): StoredRecord => ({
  ...record,
  headers: record.headers.map(([name, bytes]) => {
    const text = Buffer.from(bytes).toString()
    const masked = maskHeader(name, text)
    return [name, masked === text ? bytes : Buffer.from(masked)]
  }),
  value: withoutSchemaId(record.value),
})
