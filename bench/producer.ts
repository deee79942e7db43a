/**
 * What Kafka costs without HTTP: publishes by the same broker class as the pipelines, at a steady rate. Latencies count
 * from the moment that a record was due, as those of the open loop do.
 *
 * Arguments: bootstrap servers, topic. Each message of the process that started it,
 * `{"rate": 5000, "seconds": 5, "body": "{...}"}`, is answered by one with a `Load`; it ends when that disconnects.
 */
import { steadyMs } from "../src/clock/clock.ts"
import { openTestBroker } from "../test/support/kafka-options.ts"
import { paced } from "../test/support/paced.ts"
import type { Load } from "./traffic.ts"

/** As long as an event's deadline is by default. */
const DEADLINE_MS = 5000

const [servers = "", topic = ""] = process.argv.slice(2)
const broker = openTestBroker({ bootstrapServers: servers.split(",") })

async function run(rate: number, seconds: number, value: Buffer): Promise<Load> {
  const startMs = steadyMs()
  const latencies: number[] = []
  const publish = async (n: number): Promise<void> => {
    await broker.publish({ topic, value }, steadyMs() + DEADLINE_MS)
    latencies.push(steadyMs() - (startMs + (n * 1000) / rate))
  }
  const requests = await paced(rate, seconds, publish, 1)
  const elapsed = (steadyMs() - startMs) / 1000
  latencies.sort((a, b) => a - b)
  const at = (percentile: number): number => latencies[Math.ceil((percentile / 100) * requests) - 1]!
  return { requests, seconds: elapsed, p50: at(50), p99: at(99), p999: at(99.9) }
}

process.on("message", async ({ rate, seconds, body }: { rate: number; seconds: number; body: string }) => {
  process.send!(await run(rate, seconds, Buffer.from(body)))
})
process.on("disconnect", () => broker.close())
