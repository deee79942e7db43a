import type { Broker } from "../brokers/broker.ts"
import { openEmbedded } from "../brokers/embedded/broker.ts"
import type { Connection } from "../config/sections/connection.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"

/**
 * Opens a connection for a replay alone. A Kafka connection's spool is left out: the replay waits for Kafka itself. The log
 * of an embedded connection has one writer: where this process runs it, use that one.
 *
 * @throws HooklineError `log_locked`, `log_io`, `config` of a certificate or key that can't be used
 */
export async function openReplayBroker({ kind, values }: Connection, log: Logger): Promise<Broker> {
  const metrics = { batch() {}, retried() {}, connected() {}, incident() {} }
  if (kind === "kafka") {
    // on demand: the Kafka client loads slowly
    const { openKafka } = await import("../brokers/kafka/producer.ts")
    return openKafka(values, { log, metrics })
  }
  if (kind === "embedded") return openEmbedded(values, { log, metrics })
  throw new HooklineError("usage", "a log in memory ends with its process")
}
