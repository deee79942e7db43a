import { destination, pino, type Logger } from "pino"
import pretty from "pino-pretty"
import { escapeControls, escapeLine } from "./escape-controls.ts"

export type { Logger }

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const
export const LOG_FORMATS = ["auto", "json", "pretty"] as const

export interface LogOptions {
  level: (typeof LOG_LEVELS)[number]
  /** auto: pretty on a terminal, JSON lines elsewhere */
  format: (typeof LOG_FORMATS)[number]
  /** Which of several processes that share the log this one is; it stands in every line. */
  worker?: number | undefined
}

/** The log, and what sets the least important level that is written, for the loggers made of it too. */
export interface OpenLog {
  readonly log: Logger
  readonly setLevel: (level: LogOptions["level"]) => void
}

/** Opens the log on standard output. Lines are written at once, so that none is lost when the process dies. */
export function openLog({ level, format, worker }: LogOptions): OpenLog {
  const human = format === "pretty" || (format === "auto" && process.stdout.isTTY === true)
  const out = human
    ? pretty({ destination: 1, sync: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" })
    : destination({ dest: 1, sync: true })
  // senders write some of it: paths, header values, what a parser complains about
  const toSafe = human ? escapeParsed : escapeControls
  const stream = { write: (line: string) => void out.write(toSafe(line)) }
  // a logger's level is its own from the moment that it is made
  const made = new Set<WeakRef<Logger>>()
  const log = pino(
    {
      level,
      onChild: (child: Logger) => void made.add(new WeakRef(child)),
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

/** A line of JSON whose texts can be written to a terminal as they are. A stack keeps its lines, the message is one. */
function escapeParsed(line: string): string {
  const escaped = JSON.parse(line, (key, value: unknown) =>
    typeof value === "string" ? (key === "msg" ? escapeLine(value) : escapeControls(value)) : value,
  ) as object
  return `${JSON.stringify(escaped)}\n`
}
