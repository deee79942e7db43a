import type { BenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import { withTarget } from "./measure.ts"
import { closed } from "./parts.ts"
import { residentMiB } from "./process.ts"
import { today, type SoakResult } from "./results.ts"
import type { Target } from "./target.ts"

const CONNECTIONS = 64
const EVERY_S = 5

/**
 * Keeps a target under as much load as it takes, and watches its memory.
 *
 * @throws Error when fewer records reached the topic than requests were answered
 */
export function soak(target: Target, seconds: number, kafka: BenchKafka): Promise<SoakResult> {
  return withTarget(target, kafka, async ({ pid }, run) => {
    const memory = [residentMiB(pid)]
    const watch = setInterval(() => {
      memory.push(residentMiB(pid))
      const minute = (memory.length - 1) * EVERY_S
      if (minute % 60 === 0) console.log(`soak, ${minute / 60} min: ${memory.at(-1)!.toFixed(0)} MiB`)
    }, EVERY_S * 1000)
    try {
      const { requests: events, p99, cpuPerEvent } = await run(closed(CONNECTIONS), seconds)
      return {
        measured: today(),
        machine: machine(),
        target: target.name,
        connections: CONNECTIONS,
        seconds,
        events,
        p99,
        cpuPerEvent,
        everySeconds: EVERY_S,
        memory,
      }
    } finally {
      clearInterval(watch)
    }
  })
}
