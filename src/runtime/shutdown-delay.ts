import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"

/** Waits before a drain, while `/readyz` says `draining` and events are accepted as ever. */
export async function shutdownDelay({ service }: Plan, log: Logger): Promise<void> {
  const { shutdown_delay: delayMs } = service
  if (delayMs === 0) return
  log.info({ shutdown_delay_ms: delayMs }, "shutting down: /readyz answers 503, events are still accepted")
  await Bun.sleep(delayMs)
}
