import { inspect } from "node:util"
import type { Logger } from "../telemetry/log.ts"
import { LineWriter } from "../telemetry/line-writer.ts"

/**
 * Ends the process with status 70 on an error that nothing handles, after a line in the log and its stack on standard error.
 * Bun itself writes to standard error only, and never ends where that is a pipe that nobody reads.
 *
 * @param log undefined: not open yet
 */
export function exitOnUnhandled(log: () => Logger | undefined): void {
  const exit = (error: unknown): void => {
    log()?.fatal({ err: error }, "unhandled error: exiting")
    new LineWriter(2).write(`${inspect(error)}\n`)
    process.exit(70)
  }
  process.on("uncaughtException", exit)
  process.on("unhandledRejection", exit)
}
