import { destination, pino, type Logger as PinoLogger } from "pino"
import pretty from "pino-pretty"
import { escapeControls, escapeLine } from "./escape-controls.ts"
import { requestSentence } from "./request-sentence.ts"

/** Writes a line of the log: fields beside the message, or the message alone. */
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
  /** The worker's number, added to every line. */
  worker?: number | undefined
}

/** The log, and a setter of the level for it and all its children. */
export interface OpenLog {
  readonly log: Logger
  readonly setLevel: (level: LogLevel) => void
}

/** Opens the log on standard output, unbuffered: no line is lost when the process dies. */
export function openLog({ level, format, worker }: LogOptions): OpenLog {
  const human = format === "pretty" || (format === "auto" && process.stdout.isTTY === true)
  const out = human
    ? pretty({
        destination: 1,
        sync: true,
        ignore: "pid,hostname",
        translateTime: "SYS:HH:MM:ss.l",
        // but for stacks
        singleLine: true,
      })
    : destination({ dest: 1, sync: true })
  // paths, header values and parser errors come from senders
  const toSafe = human ? forTerminal : escapeControls
  const stream = { write: (line: string) => void out.write(toSafe(line)) }
  // a child keeps the level that it was created with
  const made = new Set<WeakRef<PinoLogger>>()
  const log = pino(
    {
      level,
      onChild: (child: PinoLogger) => void made.add(new WeakRef(child)),
      base: worker === undefined ? null : { worker },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    stream,
  )
  return {
    log,
    setLevel(next) {
      log.level = next
      for (const reference of made) {
        const child = reference.deref()
        if (child === undefined) made.delete(reference)
        else child.level = next
      }
    },
  }
}

/** A JSON line for people: one about a request is a sentence, and control characters are escaped. */
function forTerminal(line: string): string {
  const readable = requestSentence(JSON.parse(line) as { [key: string]: unknown })
  // a stack keeps its line breaks, the message does not
  const escaped = JSON.stringify(readable, (key, value: unknown) =>
    typeof value === "string" ? (key === "msg" ? escapeLine(value) : escapeControls(value)) : value,
  )
  return `${escaped}\n`
}
