import { withoutHidden } from "../process/hidden-segments.ts"
import { isatty } from "node:tty"
import { pino, type Logger as PinoLogger } from "pino"
import { isColoured } from "../process/colours.ts"
import { escapeControls } from "./escape-controls.ts"
import { lineForTerminal } from "./line-for-terminal.ts"
import { LineWriter } from "./line-writer.ts"

/** Writes a line of the log: fields next to the message, or the message alone. */
interface Write {
  (fields: object, message?: string): void
  (message: string): void
}

/** The log, by levels from the least important one. */
export interface Logger {
  /** The least important level that is written. */
  readonly level: string
  isLevelEnabled(level: string): boolean
  readonly trace: Write
  readonly debug: Write
  readonly info: Write
  readonly warn: Write
  readonly error: Write
  readonly fatal: Write
  child(fields: object): Logger
}

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const LOG_FORMATS = ["auto", "json", "pretty"] as const

export interface LogOptions {
  level: LogLevel
  /** auto: pretty on a terminal, JSON lines elsewhere */
  format: (typeof LOG_FORMATS)[number]
  /** Takes the lines, with their line breaks, in place of standard output. */
  onLine?: ((line: string) => void) | undefined
  /** Called for each line that is dropped, since standard output has not accepted those before, or `onLine` threw. */
  onDropped?: () => void
}

/** The log, and a setter of the level for it and all its children. */
export interface OpenLog {
  readonly log: Logger
  readonly setLevel: (level: LogLevel) => void
}

const STDOUT = 1
/** How often lines that were dropped are looked after where no line follows them. */
const RESUME_MS = 1000

/** Shared by all logs of the process. */
let standardOutput: LineWriter | undefined

/** Opens the log on standard output. It never blocks or throws; lines that standard output does not accept are dropped. */
export function openLog({ level, format, onLine, onDropped = () => {} }: LogOptions): OpenLog {
  const isTerminal = onLine === undefined && isatty(STDOUT)
  // paths, header values and parser errors come from senders
  const escape =
    format === "pretty" || (format === "auto" && isTerminal)
      ? lineForTerminal(isColoured(isTerminal, process.env))
      : escapeControls
  const toText = (line: string): string => escape(withoutHidden(line))
  const stream =
    onLine === undefined
      ? boundedStream(toText, onDropped, (lines) => {
          log.error({ lines }, "log lines were dropped here: standard output was full, blocked or closed")
        })
      : streamTo((line) => onLine(toText(line)), onDropped)
  // a child keeps the level that it was created with
  const made = new Set<WeakRef<PinoLogger>>()
  const log = pino(
    {
      level,
      onChild: (child: PinoLogger) => void made.add(new WeakRef(child)),
      base: null,
      serializers: { err: loggable },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    stream,
  )
  return {
    log,
    setLevel(next) {
      if (next === log.level) return
      log.level = next
      for (const reference of made) {
        const child = reference.deref()
        if (child === undefined) made.delete(reference)
        else child.level = next
      }
    },
  }
}

/**
 * What a line has of an error. Properties that throw, refer to each other or have a failing `toJSON`, as Bun's ResolveMessage,
 * cost the line only themselves.
 */
function loggable(err: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(pino.stdSerializers.err(err as Error)))
  } catch {
    return Object.fromEntries(
      ["name", "message", "code", "stack"].flatMap((name) => {
        try {
          return [[name, String((err as { [name: string]: unknown })[name]).slice(0, MAX_PART)]]
        } catch {
          return []
        }
      }),
    )
  }
}

/** The most of a part of such an error, in UTF-16 units. */
const MAX_PART = 10_000

/**
 * Writes to standard output while the queue of lines that wait has capacity. Once a line had to be dropped, so are all that follow
 * until half of it is free again; `onResumed` then gets their number.
 */
function boundedStream(
  toText: (line: string) => string,
  onDropped: () => void,
  onResumed: (lines: number) => void,
): { write(line: string): void } {
  const out = (standardOutput ??= new LineWriter(STDOUT))
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  const resume = (): void => {
    if (!out.isHalfEmpty) return
    clearInterval(timer)
    const lines = dropped
    dropped = 0
    onResumed(lines)
  }
  return {
    write(line) {
      if (dropped > 0) resume()
      if (dropped === 0 && out.write(toText(line))) return
      if (dropped++ === 0) timer = setInterval(resume, RESUME_MS).unref()
      onDropped()
    },
  }
}

/** Passes lines on; one is dropped where that throws. */
const streamTo = (pass: (line: string) => void, onDropped: () => void): { write(line: string): void } => ({
  write(line) {
    try {
      pass(line)
    } catch {
      onDropped()
    }
  },
})
