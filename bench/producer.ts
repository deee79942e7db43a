import { steadyMs } from "../src/clock/clock.ts"
import { openTestBroker } from "../test/support/kafka-options.ts"
import { paced } from "../test/support/paced.ts"
import type { Load } from "./load.ts"
import type { Target } from "./target.ts"

/** What the process of the target is told to publish; it answers with a `Load`. */
interface Order {
  readonly rate: number
  readonly seconds: number
  readonly body: string
}

/**
 * What Kafka costs without HTTP: this file as a process of its own, which publishes by the same broker class as the
 * pipelines, at a steady rate. Latencies count from the moment that a record was due, as those of the open loop do.
 */
export const loneProducer: Target = {
  name: "producer",
  title: "lone producer, no HTTP",
  onKafka: true,
  isReceiver: false,
  async start(topic) {
    let measured = Promise.withResolvers<Load>()
    const child = Bun.spawn(
      [process.execPath, import.meta.path, topic!.bootstrapServers.join(","), topic!.topic],
      {
        stdio: ["ignore", "inherit", "inherit"],
        ipc: (load: Load) => measured.resolve(load),
        onExit: () => measured.reject(new Error("the producer ended before it had measured")),
      },
    )
    const load = (order: Order): Promise<Load> => {
      measured = Promise.withResolvers()
      child.send(order)
      return measured.promise
    }
    // The connection is open and the topic known.
    await load({ rate: 10, seconds: 1, body: '{"first":true}' })
    return {
      pid: child.pid,
      load({ arrivals, seconds, body }) {
        if (!("rate" in arrivals)) throw new Error("the producer keeps a rate; it has no connections")
        return load({ rate: arrivals.rate, seconds, body })
      },
      async [Symbol.asyncDispose]() {
        child.disconnect()
        await child.exited
      },
    }
  },
}

/** As long as an event's deadline is by default. */
const DEADLINE_MS = 5000

/** The process: publishes what it is told to until whoever started it disconnects. */
function publishAsTold(servers: string, topic: string): void {
  const broker = openTestBroker({ bootstrapServers: servers.split(",") })
  process.on("message", async ({ rate, seconds, body }: Order) => {
    const value = Buffer.from(body)
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
    const load: Load = { requests, seconds: elapsed, p50: at(50), p99: at(99), p999: at(99.9) }
    process.send!(load)
  })
  process.on("disconnect", () => broker.close())
}

if (import.meta.main) publishAsTold(process.argv[2]!, process.argv[3]!)
