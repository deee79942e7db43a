import type { Ended, RequestInfo } from "./event.ts"
import type { RequestLog } from "./telemetry/request-log.ts"

/**
 * Tells of an event that was not accepted, never of its body.
 *
 * @param bytes of the body; undefined: it was not read
 */
export function logEnd(
  log: RequestLog,
  pipeline: string,
  request: RequestInfo,
  outcome: Ended,
  bytes: number | undefined,
): void {
  const { method, path, remoteAddress } = request
  const line = { pipeline, reason: outcome.reason, method, path, remote_address: remoteAddress, bytes }
  switch (outcome.kind) {
    case "answered":
      return log.write("info", { ...line, status: outcome.status }, "handshake answered")
    case "dropped":
      return log.write("info", { ...line, detail: outcome.detail }, "event dropped")
    case "rejected": {
      const detail = outcome.logDetail ?? outcome.detail
      const level = outcome.status >= 500 ? "warn" : "info"
      return log.write(level, { ...line, status: outcome.status, detail }, "event rejected")
    }
  }
}
