import type { Receipt, Record } from "../../pipeline/record.ts"
import { KeptLink } from "../../postgres/kept-link.ts"
import type { PostgresServer } from "../../postgres/server.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { ConnectionMetrics } from "../../telemetry/metrics.ts"
import { BatchPublisher } from "../batch-publisher.ts"
import type { Broker } from "../broker.ts"
import { AcknowledgedEnds, describeLost } from "./acknowledged-ends.ts"
import { Appender } from "./appender.ts"
import { PostgresRetention } from "./retention.ts"
import { TopicPartitions } from "./topic-partitions.ts"

/** The bytes of about the largest statement. */
const BATCH_BYTES = 8 * 1024 * 1024

export interface PostgresDeps {
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** The connection's name in pg_stat_activity. */
  readonly name: string
}

export interface PostgresSettings {
  /** The least number of partitions of each topic. */
  readonly partitions: number
  /** The age up to which records are kept, in milliseconds; Infinity: forever. */
  readonly retention: number
}

/** A log in a schema of a PostgreSQL database, which several instances may append to. */
export class PostgresBroker implements Broker {
  readonly #kept: KeptLink
  readonly #appender: Appender
  readonly #publisher: BatchPublisher
  readonly #topics: TopicPartitions
  readonly #retention: PostgresRetention
  readonly #log: Logger
  #prepared: readonly string[] = []
  #isClosing = false

  constructor(
    server: PostgresServer,
    { partitions, retention }: PostgresSettings,
    { log, metrics, name }: PostgresDeps,
  ) {
    this.#log = log
    this.#topics = new TopicPartitions(server.schema, partitions)
    const ends = new AcknowledgedEnds(server.schema)
    this.#kept = new KeptLink(server, {
      name,
      log,
      opened: async (link) => {
        const lost = await ends.lostOn(link)
        if (lost.length > 0)
          log.error(
            { lost: lost.map(describeLost) },
            "PostgreSQL has lost events that were acknowledged: a standby took over that lacked them, or an older copy was restored",
          )
        this.#topics.forget()
        await this.#topics.create(link, this.#prepared)
      },
    })
    this.#appender = new Appender(this.#kept, this.#topics, ends, server.schema)
    this.#retention = new PostgresRetention(this.#kept, server.schema, retention, log)
    this.#publisher = new BatchPublisher({
      title: `PostgreSQL at ${server.name}`,
      batchBytes: BATCH_BYTES,
      commit: (records, then) => void this.#appender.append(records).then(then),
      // what waits for a connection waits until its deadline
      failure: () => undefined,
      problem: () => this.#problem,
      committed: (records, ms) => metrics.batch(records, ms),
    })
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    return this.#publisher.publish(record, deadlineMs)
  }

  prepare(topics: readonly string[]): void {
    this.#prepared = topics
    const { link } = this.#kept
    if (link === undefined) return
    this.#topics.create(link, topics).catch((err: unknown) => {
      this.#log.warn({ err }, "topics could not be created; each is created with its first event")
    })
  }

  ready(): true | string {
    return this.#isClosing ? "the connection is closing" : (this.#problem ?? true)
  }

  get #problem(): string | undefined {
    return this.#kept.problem ?? this.#appender.problem
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.#publisher.close()
    await this.#retention.end()
    await this.#kept.close()
  }
}
