import type { BenchKafka } from "./kafka.ts"
import { withTarget } from "./measure.ts"
import { closed } from "./parts.ts"
import { residentMiB } from "./process.ts"
import { hereAndNow, type SoakResult } from "./results.ts"
import { targetNamed } from "./targets.ts"

const [TARGET, CONNECTIONS, EVERY_S] = ["hookline-hmac", 64, 5] as const

/**
 * Keeps a target under as much load as it takes, and watches its memory.
 *
 * @throws Error when fewer records reached the topic than requests were answered
 */
export function soak(seconds: number, kafka: BenchKafka): Promise<SoakResult> {
  return withTarget(targetNamed(TARGET), kafka, async ({ pid }, run) => {
    const memory = [residentMiB(pid)]
    const watch = setInterval(() => {
      memory.push(residentMiB(pid))
      const minute = (memory.length - 1) * EVERY_S
      if (minute % 60 === 0) console.log(`soak, ${minute / 60} min: ${memory.at(-1)!.toFixed(0)} MiB`)
    }, EVERY_S * 1000)
    try {
      const { requests: events, p99, cpuPerEvent } = await run(closed(CONNECTIONS), seconds)
      const how = { target: TARGET, connections: CONNECTIONS, seconds, everySeconds: EVERY_S }
      return { ...hereAndNow(), ...how, events, p99, cpuPerEvent, memory }
    } finally {
      clearInterval(watch)
    }
  })
}
