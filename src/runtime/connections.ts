import { resolve } from "node:path"
import type { Broker, YieldingBroker } from "../brokers/broker.ts"
import { openEmbedded } from "../brokers/embedded/broker.ts"
import { SpooledBroker } from "../brokers/spool/spool.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import type { Connection } from "../config/sections/connection.ts"
import { kafkaPortOf } from "./kafka-port.ts"
import { EMBEDDED } from "../config/sections/embedded-connection.ts"
import { KAFKA } from "../config/sections/kafka-connection.ts"
import { HooklineError } from "../errors.ts"
import { UNOPENED } from "../storage/writer-lock.ts"
import type { KeyJournal } from "../pipeline/record.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/** A connection open for publishing. */
export interface OpenConnection {
  readonly broker: Broker
  /** Identity of the opened connection; a new one after a reopen, even behind a spool that stays open. */
  readonly instance: object
  readonly kind: Connection["kind"]
  readonly deliveryTimeoutMs: number
  /** The folder of an embedded log, absolute. */
  readonly logDirectory?: string
  /** Of that log. */
  readonly keyJournal?: KeyJournal
  readonly spool?: { readonly file: string; readonly broker: SpooledBroker }
  /** Resolves when Kafka clients can connect to an embedded log; rejects with OptionError `listen`. */
  readonly listening?: Promise<void>
}

export type OpenConnections = ReadonlyMap<string, OpenConnection>

interface ConnectionDependencies {
  readonly log: Logger
  readonly metrics: Metrics
}

/**
 * Opens the connections of a plan, or keeps open ones. Does not wait for brokers. The Kafka client, slow to load, is
 * loaded only for plans that publish to Kafka. At a start, those that can't be opened now are in `transaction.unopened`.
 *
 * @throws HooklineError `config`, `log_locked`, `log_io`, `listen`
 */
export async function acquireConnections(
  { connections, memoryLogs }: Pick<Plan, "connections" | "memoryLogs">,
  transaction: Transaction,
  before: OpenConnections,
  deps: ConnectionDependencies,
): Promise<OpenConnections> {
  const publishesToKafka = [...connections.values()].some(({ kind }) => kind === "kafka")
  const kafka = publishesToKafka ? await import("../brokers/kafka/producer.ts") : undefined
  const acquireOne = ([id, connection]: readonly [string, Connection]): readonly [string, OpenConnection] => {
    const acquired =
      connection.kind === "memory"
        ? // the caller's: stays open when the application stops
          { broker: memoryLogs.get(id)!, instance: memoryLogs.get(id)! }
        : connection.kind === "embedded"
          ? acquireEmbedded(id, connection, transaction, deps)
          : acquireKafka(id, connection, transaction, { ...deps, ...kafka! })
    const { kind, values } = connection
    return [id, { ...acquired, kind, deliveryTimeoutMs: values.delivery_timeout }]
  }
  const open = new Map([...connections].map(acquireOne))
  await Promise.all([...open.values()].map(({ listening }) => listening))
  transaction.onCommit(() => {
    const kept = new Set([...open.values()].map(({ broker }) => broker))
    for (const { spool } of before.values())
      if (spool !== undefined && !kept.has(spool.broker)) spool.broker.retire()
  })
  return open
}

type Acquired = Omit<OpenConnection, "kind" | "deliveryTimeoutMs">

/** An embedded log has one writer, whatever the id under which it is registered. */
function acquireEmbedded(
  id: string,
  { values }: Extract<Connection, { kind: "embedded" }>,
  transaction: Transaction,
  { log, metrics }: ConnectionDependencies,
): Acquired {
  const broker = transaction.acquire({
    name: `embedded log ${values.directory}`,
    config: reopenConfig(EMBEDDED, values),
    open: (unopened) =>
      openEmbedded(values, {
        log: log.child({ connection: id }),
        unopened,
        metrics: metrics.connection(id),
        logMetrics: metrics.embeddedLog(id),
      }),
    retries: UNOPENED,
    close: (it) => it.close(),
  })
  broker.checkPartitions(values.partitions)
  transaction.onCommit(() => {
    broker.partition(values.partitions)
    broker.retain(values)
  })
  const { keyJournal } = broker
  const acquired = { broker, instance: broker, logDirectory: resolve(values.directory), keyJournal }
  const { kafka_listen: listen } = values
  if (listen === "off") return acquired
  const options = kafkaPortOf(values)
  const port = transaction.acquire({
    name: `Kafka listener of ${values.directory}`,
    config: listen,
    open: (unopened) => broker.listen({ listen, ...options }, unopened),
    retries: UNOPENED,
    close: (it) => it.close(),
  })
  transaction.onCommit(() => port.change(options))
  return { ...acquired, listening: port.listening }
}

type KafkaClient = Pick<typeof import("../brokers/kafka/producer.ts"), "openKafka">

/** A spool is identified by its file, across changes of the Kafka connection behind it. */
function acquireKafka(
  id: string,
  { values }: Extract<Connection, { kind: "kafka" }>,
  transaction: Transaction,
  { log, metrics, openKafka }: ConnectionDependencies & KafkaClient,
): Acquired {
  const ownLog = log.child({ connection: id })
  const kafka: ResourceSpec<YieldingBroker> = {
    name: `connection ${id}`,
    config: reopenConfig(KAFKA, values),
    open: (failure) =>
      openKafka(values, { log: ownLog, metrics: metrics.kafka(id), isUnreadable: failure !== undefined }),
    retries: ["config"],
    close: (it) => it.close(),
  }
  const { spool: file, spool_max_bytes: maxBytes } = values
  if (file === "off") {
    const broker = transaction.acquire(kafka)
    return { broker, instance: broker }
  }
  const spool = transaction.acquire({
    name: `spool ${file}`,
    config: id,
    open: (unopened) =>
      new SpooledBroker({ file, maxBytes }, { log: ownLog, unopened, metrics: metrics.spool(id) }),
    retries: UNOPENED,
    close: (it, untilMs) => it.close(untilMs),
  })
  const behind = transaction.acquire({
    ...kafka,
    close: async (it) => {
      await spool.left(it)
      await it.close()
    },
  })
  transaction.onCommit(() => {
    spool.limit(maxBytes)
    spool.use(behind)
  })
  return { broker: spool, instance: behind, spool: { file, broker: spool } }
}

/** Refuses to close, or to move to another connection, a spool that holds events. @throws HooklineError `config` */
export function checkSpools(before: OpenConnections, { connections }: Pick<Plan, "connections">): void {
  const fileOf = (id: string): string | undefined => {
    const connection = connections.get(id)
    return connection?.kind === "kafka" ? connection.values.spool : undefined
  }
  for (const [id, { spool }] of before) {
    if (spool === undefined || fileOf(id) === spool.file) continue
    const other = [...connections.keys()].find((it) => fileOf(it) === spool.file)
    if (other !== undefined) {
      throw new HooklineError(
        "config",
        `[connection:${other}] spool: ${spool.file} is the spool of connection ${id}, and can move to another only at a restart`,
      )
    }
    if (!spool.broker.isIdle()) {
      throw new HooklineError(
        "config",
        `[connection:${id}] spool: ${spool.file} holds events not yet forwarded to Kafka; keep it until it is empty (hookline spool status), or restart to leave them there`,
      )
    }
  }
}
