import { destination, pino, type Logger } from "pino"
import pretty from "pino-pretty"

export type { Logger }

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const
export const LOG_FORMATS = ["auto", "json", "pretty"] as const

export interface LogOptions {
  level: (typeof LOG_LEVELS)[number]
  /** auto: pretty on a terminal, JSON lines elsewhere */
  format: (typeof LOG_FORMATS)[number]
}

/** Opens the log on standard output. Lines are written at once, so that none is lost when the process dies. */
export function openLog({ level, format }: LogOptions): Logger {
  const human = format === "pretty" || (format === "auto" && process.stdout.isTTY === true)
  const stream = human
    ? pretty({ destination: 1, sync: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" })
    : destination({ dest: 1, sync: true })
  return pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    stream,
  )
}
