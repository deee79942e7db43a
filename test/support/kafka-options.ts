import { pino } from "pino"
import { KafkaProducer } from "../../src/brokers/kafka/producer.ts"
import type { KafkaOptions } from "../../src/brokers/kafka/options.ts"
import { KAFKA } from "../../src/brokers/kafka/kind.ts"
import type { Broker } from "../../src/brokers/broker.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { HANG_MS } from "./hang.ts"
import type { TestKafka } from "./kafka.ts"

/** Options of a Kafka connection as the configuration leaves them when only the servers are given. */
export function kafkaOptions(servers: readonly string[], more: Partial<KafkaOptions> = {}): KafkaOptions {
  const none = Object.fromEntries(Object.keys(KAFKA.options).map((key) => [key, undefined]))
  return {
    ...(none as { [key in keyof KafkaOptions]: never }),
    bootstrap_servers: servers,
    security_protocol: "plaintext",
    compression_type: "none",
    client_id: "hookline-test",
    max_request_bytes: 1_000_000,
    connections_max_idle: 180_000,
    ...more,
  }
}

/** A Kafka connection with what it logs at info and above, and the sizes of the batches that were acknowledged. */
export interface TestBroker extends Broker, AsyncDisposable {
  readonly log: readonly { readonly level: string; readonly msg: string; readonly [key: string]: unknown }[]
  readonly batches: readonly number[]
}

export function openTestBroker(
  { bootstrapServers }: TestKafka,
  more: Partial<KafkaOptions> = {},
): TestBroker {
  const log: TestBroker["log"][number][] = []
  const batches: number[] = []
  const logger = pino(
    { formatters: { level: (level) => ({ level }) } },
    { write: (line) => log.push(JSON.parse(line)) },
  )
  const metrics = {
    batch: (records: number) => void batches.push(records),
    retried() {},
    connected() {},
    incident() {},
  }
  const broker = new KafkaProducer(kafkaOptions(bootstrapServers, more), { log: logger, metrics })
  return Object.assign(broker, { log, batches, [Symbol.asyncDispose]: () => broker.close() })
}

/** Waits until a condition holds: looks every 5 ms at first, and more seldom the longer that it waits, up to 100 ms. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const startMs = steadyMs()
  while (!(await holds())) {
    const waitedMs = steadyMs() - startMs
    if (waitedMs > HANG_MS) throw new Error(`after ${HANG_MS} ms still not: ${what}`)
    await Bun.sleep(Math.min(Math.max(5, waitedMs / 10), 100))
  }
}
