import type { Broker, YieldingBroker } from "./brokers/broker.ts"
import { openEmbedded } from "./brokers/embedded.ts"
import { openKafka } from "./brokers/kafka.ts"
import { openSpool, type SpooledBroker } from "./brokers/spool.ts"
import type { Connection } from "./config/connection.ts"
import type { EMBEDDED } from "./config/embedded-connection.ts"
import { fingerprints } from "./config/fingerprint.ts"
import { KAFKA } from "./config/kafka-connection.ts"
import type { Values } from "./config/options.ts"
import { inputsOf } from "./config/resolve.ts"
import type { Changeover, Wanted } from "./holdings.ts"
import type { Logger } from "./telemetry/log.ts"
import type { ConnectionMetrics, LogMetrics, SpoolMetrics } from "./telemetry/metrics.ts"

/** A connection that is open, to publish to. */
export interface OpenConnection {
  readonly broker: Broker
  /** Another one where the connection was opened anew, also behind a spool that stays. */
  readonly instance: object
  /** Its spool, and the file of it. */
  readonly spool?: { readonly file: string; readonly broker: SpooledBroker }
  /** Takes what an open connection can take, when the change to these options is sure. */
  readonly take: () => void
}

export interface BrokerDependencies {
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** Makes what a spool counts with, where there is one. */
  readonly spoolMetrics: () => SpoolMetrics
  /** Makes what an embedded log counts with. */
  readonly logMetrics: () => LogMetrics
}

type KafkaValues = Values<(typeof KAFKA)["options"]>

/**
 * Opens a connection, to publish to, with its spool before it, or keeps what is open of it. Does not wait for its broker
 * to be reachable.
 *
 * @throws HooklineError `log_locked`, `log_io`, `no_input`
 */
export function holdConnection(
  id: string,
  connection: Connection,
  changeover: Changeover,
  deps: BrokerDependencies,
): OpenConnection {
  if (connection.kind === "embedded") return holdEmbedded(connection.values, changeover, deps)
  const { values } = connection
  if (values.spool !== "off") return holdSpooled(id, values, changeover, deps)
  const broker = changeover.hold(wantedKafka(id, values, deps))
  return { broker, instance: broker, take() {} }
}

/** An embedded log has one writer, whatever the id under which it is registered. */
function holdEmbedded(
  values: Values<(typeof EMBEDDED)["options"]>,
  changeover: Changeover,
  deps: BrokerDependencies,
): OpenConnection {
  const broker = changeover.hold({
    name: `embedded log ${values.directory}`,
    wants: undefined,
    open: () => openEmbedded(values, { ...deps, logMetrics: deps.logMetrics() }),
    close: (it) => it.close(),
  })
  return { broker, instance: broker, take: () => broker.retain(values) }
}

/** A spool is its file, whatever becomes of the connection to Kafka behind it. */
function holdSpooled(
  id: string,
  values: KafkaValues,
  changeover: Changeover,
  deps: BrokerDependencies,
): OpenConnection {
  const { spool: file, spool_max_bytes: maxBytes } = values
  const broker = changeover.hold({
    name: `spool ${file}`,
    wants: id,
    open: () => openSpool({ file, maxBytes }, { log: deps.log, metrics: deps.spoolMetrics() }),
    close: (it, untilMs) => it.close(untilMs),
  })
  const kafka = changeover.hold({
    ...wantedKafka(id, values, deps),
    close: async (it) => {
      await broker.left(it)
      await it.close()
    },
  })
  const take = (): void => {
    broker.limit(maxBytes)
    broker.use(kafka)
  }
  return { broker, instance: kafka, spool: { file, broker }, take }
}

function wantedKafka(id: string, values: KafkaValues, deps: BrokerDependencies): Wanted<YieldingBroker> {
  const { delivery_timeout: _, spool_max_bytes: __, ...own } = values
  return {
    name: `connection ${id}`,
    wants: [own, fingerprints(inputsOf(KAFKA, own))],
    open: () => openKafka(values, deps),
    close: (it) => it.close(),
  }
}
