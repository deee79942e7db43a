import type { Logger } from "./log.ts"

/** Lines of one kind written per second; the rest is counted. */
const LINES_A_SECOND = 10
const MINUTE_MS = 60_000

/** The fields of a line. Lines with the same pipeline, message and reason are of one kind. */
export interface RequestLine {
  /** undefined: none, or the logger's own. */
  readonly pipeline: string | undefined
  /** A fixed word. */
  readonly reason: string
  readonly status?: number | undefined
  readonly [key: string]: unknown
}

type Level = "debug" | "info" | "warn" | "error"

interface Kind {
  readonly level: Level
  readonly line: RequestLine
  readonly message: string
  lines: number
}

/** What came of a pipeline after its warning, within a minute. */
interface Minute {
  readonly line: RequestLine
  readonly message: string
  /** The number of lines, by reason. */
  readonly more: Map<string, number>
  readonly ends: Timer
}

/**
 * A rate-limited log of refused requests, which anyone can send in any number. The first ten lines of a kind in a second
 * are written at once; the number of the rest is one line at its end.
 */
export class RequestLog {
  readonly #log: Logger
  readonly #minuteMs: number
  readonly #isForFaults: boolean
  readonly #kinds = new Map<string, Kind>()
  readonly #minutes = new Map<string, Minute>()
  #secondEnds: Timer | undefined

  /** @param isForFaults only errors are written: something else tells of refusals */
  constructor(log: Logger, { minuteMs = MINUTE_MS, isForFaults = false } = {}) {
    this.#log = log
    this.#isForFaults = isForFaults
    this.#minuteMs = minuteMs
  }

  /** Whether lines of a level are written: without them there is no need to make any. */
  isLevelEnabled(level: Level): boolean {
    return (!this.#isForFaults || level === "error") && this.#log.isLevelEnabled(level)
  }

  write(level: Level, line: RequestLine, message: string): void {
    if (!this.isLevelEnabled(level)) return
    const name = `${line.pipeline} ${line.reason} ${message}`
    let kind = this.#kinds.get(name)
    if (kind === undefined) this.#kinds.set(name, (kind = { level, line, message, lines: 0 }))
    if (++kind.lines <= LINES_A_SECOND) this.#log[level](line, message)
    this.#secondEnds ??= setTimeout(() => this.#endSecond(), 1000).unref()
  }

  /**
   * Writes a line at info, but the first of a pipeline as a warning, and a minute later, as another, how many have followed:
   * a warning a minute at most.
   */
  warn(line: RequestLine, message: string): void {
    if (this.#isForFaults) return
    const name = `${line.pipeline} ${message}`
    const minute = this.#minutes.get(name)
    if (minute === undefined) {
      this.#beginMinute(name, line, message)
      return this.#log.warn(line, message)
    }
    minute.more.set(line.reason, (minute.more.get(line.reason) ?? 0) + 1)
    this.write("info", line, message)
  }

  /** Writes the counts of what was suppressed, and of what has followed the warnings. */
  flush(): void {
    this.#endSecond()
    for (const [name, minute] of this.#minutes) this.#endMinute(name, minute)
  }

  #beginMinute(name: string, line: RequestLine, message: string): void {
    const ends = setTimeout(() => {
      if (this.#endMinute(name, minute)) this.#beginMinute(name, line, message)
    }, this.#minuteMs).unref()
    const minute = { line, message, more: new Map<string, number>(), ends }
    this.#minutes.set(name, minute)
  }

  /** @returns whether there were more */
  #endMinute(name: string, { line, message, more, ends }: Minute): boolean {
    clearTimeout(ends)
    this.#minutes.delete(name)
    if (more.size === 0) return false
    const { pipeline, status } = line
    const reasons = Object.fromEntries(more)
    const count = more.values().reduce((sum, one) => sum + one, 0)
    this.#log.warn({ pipeline, status, more: count, reasons }, `${message}: more within a minute`)
    return true
  }

  #endSecond(): void {
    clearTimeout(this.#secondEnds)
    this.#secondEnds = undefined
    for (const { level, line, message, lines } of this.#kinds.values()) {
      if (lines <= LINES_A_SECOND) continue
      const { pipeline, reason, status } = line
      const more = lines - LINES_A_SECOND
      this.#log[level]({ pipeline, status, reason, more }, `${message}: further lines suppressed`)
    }
    this.#kinds.clear()
  }
}
