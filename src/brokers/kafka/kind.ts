import { message, setting } from "../../message.ts"
import type { Values } from "../../config/options/option-types.ts"
import { opening } from "../../errors.ts"
import type { ResourceSpec } from "../../pipeline/resource.ts"
import { UNOPENED } from "../../storage/writer-lock.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { YieldingBroker } from "../broker.ts"
import { defineConnection, UNCOUNTED, type Acquired } from "../define-connection.ts"
import { spoolAt } from "../spool/spool-database.ts"
import { checkOptions, DEFAULT_REQUEST_BYTES, OPTIONS } from "./options.ts"

// The Kafka client loads slowly: its files are imported where a connection is used.

/** A cluster of Apache Kafka, with or without a spool before it. */
export const KAFKA = defineConnection({
  name: "kafka",
  title: "Kafka connection",
  aliases: [],
  summary:
    "`[connection:<id>]` with `bootstrap_servers`: events are published to Apache Kafka, with acks=all and idempotence.",
  adjective: "Kafka",
  noun: "Kafka",
  key: "bootstrap_servers",
  form: "<host:port>",
  messagingSystem: "kafka",
  // a producer of the pipelines' own would cancel a replay's records with theirs
  hasOneWriter: false,
  options: OPTIONS,
  check: checkOptions,

  describe({ bootstrap_servers: servers, security_protocol: security }) {
    const address = servers.join(", ")
    return { address, place: `Kafka at ${address}`, ofTopic: `of Kafka at ${address}`, security }
  },
  async acquire({ id, values, config }, { transaction, log, metrics }): Promise<Acquired> {
    const { KafkaProducer } = await import("./producer.ts")
    const kafka: ResourceSpec<YieldingBroker> = {
      name: `connection ${id}`,
      config,
      open: (failure) =>
        new KafkaProducer(values, {
          log,
          metrics: metrics.kafka(id),
          isUnreadable: failure !== undefined,
          spools: values.spool !== "off",
        }),
      retries: ["config"],
      close: (it) => it.close(),
    }
    const { spool: file, spool_max_bytes: maxBytes } = values
    if (file === "off") {
      const broker = transaction.acquire(kafka)
      return { broker, instance: broker }
    }
    const { SpooledBroker } = await import("../spool/spool.ts")
    // identified by its file, across changes of its connection
    const spool = transaction.acquire({
      name: `spool ${file}`,
      config: id,
      open: (unopened) =>
        new SpooledBroker({ file, maxBytes }, { log, unopened, metrics: metrics.spool(id) }),
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
  },
  open: openProducer,
  openReader: async (values) => (await import("./reader.ts")).openKafkaReader(values),
  joinGroup: async (...given) => (await import("./read-group.ts")).joinKafkaGroup(...given),
  listGroups: async (values) => (await import("./read-group.ts")).listKafkaGroups(values),
  pauseGroup: async (...given) => (await import("./read-group.ts")).pauseKafkaGroup(...given),
  async dryRun(values, checkDatabase) {
    const { spool } = values
    if (spool !== "off") opening("spool", () => checkDatabase(spoolAt(spool)))
    const { kafkaClient } = await import("./connection.ts")
    kafkaClient(values)
  },
  reach: async (...given) => (await import("./reach.ts")).reachKafka(...given),
  isSameLog: (a, b) => a.bootstrap_servers.some((server) => b.bootstrap_servers.includes(server)),
  files({ spool }) {
    if (spool === undefined || spool === "off") return []
    return [{ key: "spool", isInFolder: false, path: spool, database: spoolAt(spool) }]
  },
  spool(values) {
    const { spool: file, spool_max_bytes: maxBytes } = values
    return file === "off" ? undefined : { file, maxBytes, openBroker: (log) => openProducer(values, log) }
  },
  largestRecord: ({ max_request_bytes: bytes = DEFAULT_REQUEST_BYTES }) => ({
    key: "max_request_bytes",
    bytes,
  }),
  oneProcess: ({ spool }) =>
    spool === undefined || spool === "off"
      ? undefined
      : { key: "spool", what: "a spool", advice: message`set ${setting("spool", "off")}` },
})

async function openProducer(values: Values<typeof OPTIONS>, log: Logger): Promise<YieldingBroker> {
  const { KafkaProducer } = await import("./producer.ts")
  return new KafkaProducer(values, { log, metrics: UNCOUNTED })
}
