import type { Logger } from "../../../src/telemetry/log.ts"
import type { World } from "../world.ts"

/** The service's log, as lines of the world's history. @param hidden what differs from run to run: the folder of the files */
export function simulatedLog(world: World, hidden: string): Logger {
  const at = (level: string) => (fields: object | string, message?: string) => {
    const text = typeof fields === "string" ? fields : message
    const { err, reason } = (typeof fields === "string" ? {} : fields) as { err?: unknown; reason?: unknown }
    const why = [reason, err].flatMap((it) => (it === undefined ? [] : `(${String(it)})`))
    world.tell("log", [level, text, ...why].join(" ").replaceAll(hidden, ""))
  }
  const log: Logger = {
    level: "info",
    isLevelEnabled: (level) => level !== "trace" && level !== "debug",
    trace() {},
    debug() {},
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    fatal: at("fatal"),
    child: () => log,
  }
  return log
}
