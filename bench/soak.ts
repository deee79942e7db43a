import { bodies } from "./body.ts"
import type { BenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import { withTarget } from "./measure.ts"
import { cpuMicroseconds, residentMiB } from "./process.ts"
import type { SoakResult } from "./results.ts"
import type { Target } from "./target.ts"

const CONNECTIONS = 64
const EVERY_S = 5

/**
 * Keeps a target under as much load as it takes, and watches its memory.
 *
 * @param seconds how long
 * @throws Error when fewer records reached the topic than requests were answered
 */
export function soak(
  target: Target,
  { seconds, kafka, progress }: { seconds: number; kafka: BenchKafka; progress: (text: string) => void },
): Promise<SoakResult> {
  return withTarget(target, kafka, async (started, records) => {
    const memory = [residentMiB(started.pid)]
    const watch = setInterval(() => {
      memory.push(residentMiB(started.pid))
      const minute = (memory.length - 1) * EVERY_S
      if (minute % 60 === 0) progress(`${minute / 60} min: ${memory.at(-1)!.toFixed(0)} MiB`)
    }, EVERY_S * 1000)
    try {
      const before = await records()
      const cpuBefore = cpuMicroseconds(started.pid)
      const load = await started.load({
        body: bodies["1.1 KB"],
        arrivals: { connections: CONNECTIONS },
        seconds,
      })
      const published = (await records()) - before
      if (published < load.requests) {
        throw new Error(`${load.requests} requests were answered, and ${published} are in the topic`)
      }
      return {
        measured: new Date().toISOString().slice(0, 10),
        machine: machine(),
        target: target.name,
        connections: CONNECTIONS,
        seconds,
        events: load.requests,
        p99: load.p99,
        cpuPerEvent: (cpuMicroseconds(started.pid) - cpuBefore) / load.requests,
        everySeconds: EVERY_S,
        memory,
      }
    } finally {
      clearInterval(watch)
    }
  })
}
