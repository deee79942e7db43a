/**
 * What Kafka costs without HTTP: publishes by the same broker class as the pipelines, at a steady rate. Latencies count
 * from the moment that a record was due, as those of the open loop do.
 *
 * Arguments: bootstrap servers, topic. Each line of standard input, `{"rate": 5000, "seconds": 5, "body": "{...}"}`, is
 * answered by one on standard output with a `Load`.
 */
import { pino } from "pino"
import { openKafka } from "../src/brokers/kafka/producer.ts"
import { steadyMs } from "../src/clock/clock.ts"
import { kafkaOptions } from "../test/support/kafka-options.ts"
import type { Load } from "./traffic.ts"

/** As long as an event's deadline is by default. */
const DEADLINE_MS = 5000

const [servers = "", topic = ""] = process.argv.slice(2)
const broker = openKafka(kafkaOptions(servers.split(",")), {
  log: pino({ level: "silent" }),
  metrics: { batch() {}, retried() {}, connected() {}, incident() {} },
})

async function run(rate: number, seconds: number, value: Buffer): Promise<Load> {
  const count = rate * seconds
  const latencies = new Float64Array(count)
  const startMs = performance.now()
  let sent = 0
  let settled = 0
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  const publish = (index: number): void => {
    const dueMs = startMs + (index * 1000) / rate
    const acknowledged = (): void => {
      latencies[index] = performance.now() - dueMs
      settled++
      if (settled === count) resolve()
    }
    broker.publish({ topic, value }, steadyMs() + DEADLINE_MS).then(acknowledged, reject)
  }
  const timer = setInterval(() => {
    const due = Math.min(count, Math.floor(((performance.now() - startMs) * rate) / 1000) + 1)
    while (sent < due) publish(sent++)
    if (sent === count) clearInterval(timer)
  }, 1)
  await done
  const elapsed = (performance.now() - startMs) / 1000
  latencies.sort()
  const at = (percentile: number): number => latencies[Math.ceil((percentile / 100) * count) - 1]!
  return { requests: count, seconds: elapsed, p50: at(50), p99: at(99), p999: at(99.9) }
}

for await (const line of console) {
  // The end of the input gives an empty line.
  if (line === "") break
  const { rate, seconds, body } = JSON.parse(line) as { rate: number; seconds: number; body: string }
  console.log(JSON.stringify(await run(rate, seconds, Buffer.from(body))))
}
await broker.close()
