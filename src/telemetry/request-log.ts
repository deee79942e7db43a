import type { Logger } from "./log.ts"

/** Lines of one kind written per second; the rest is counted. */
const LINES_A_SECOND = 10

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

/**
 * A rate-limited log of refused requests, which anyone can send in any number. The first ten lines of a kind in a second
 * are written at once; the number of the rest is one line at its end.
 */
export class RequestLog {
  readonly #log: Logger
  readonly #kinds = new Map<string, Kind>()
  #secondEnds: Timer | undefined

  constructor(log: Logger) {
    this.#log = log
  }

  /** Whether lines of a level are written: without them there is no need to make any. */
  isLevelEnabled(level: Level): boolean {
    return this.#log.isLevelEnabled(level)
  }

  write(level: Level, line: RequestLine, message: string): void {
    const name = `${line.pipeline} ${line.reason} ${message}`
    let kind = this.#kinds.get(name)
    if (kind === undefined) this.#kinds.set(name, (kind = { level, line, message, lines: 0 }))
    if (++kind.lines <= LINES_A_SECOND) this.#log[level](line, message)
    this.#secondEnds ??= setTimeout(() => this.flush(), 1000).unref()
  }

  /** Writes the counts of suppressed lines and begins a new second. */
  flush(): void {
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
