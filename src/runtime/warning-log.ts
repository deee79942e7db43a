import type { Logger } from "../telemetry/log.ts"

const ignore = (): void => {}

/** A log that passes on warnings and errors, and drops the rest. */
export function warningLog(warn: (text: string) => void): Logger {
  const write = (fields: object | string, message?: string): void =>
    warn(message ?? (typeof fields === "string" ? fields : JSON.stringify(fields)))
  const log: Logger = {
    level: "warn",
    isLevelEnabled: (level) => level !== "trace" && level !== "debug" && level !== "info",
    trace: ignore,
    debug: ignore,
    info: ignore,
    warn: write,
    error: write,
    fatal: write,
    child: () => log,
  }
  return log
}

export const SILENT = warningLog(ignore)
