import type { YieldingBroker } from "../../../src/brokers/broker.ts"
import { KafkaProducer } from "../../../src/brokers/kafka/producer.ts"
import { steadyMs } from "../../../src/clock/clock.ts"
import { PublishError } from "../../../src/errors.ts"
import type { Logger } from "../../../src/telemetry/log.ts"
import { kafkaOptions } from "../../support/kafka-options.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import type { World } from "../world.ts"
import type { Audit } from "./audit.ts"
import type { Publication } from "./publication.ts"

/** What the service's connection is configured with. */
export interface ServiceSettings {
  readonly compression: "none" | "gzip"
  /** Undefined: the default. */
  readonly maxRequestBytes?: number | undefined
  /** How many topics are named ahead, as those of a configuration are; the others are looked up while records are pending. */
  readonly prepared?: number | undefined
}

/** A process with the real producer in it. */
export class Service {
  readonly process: SimulatedProcess
  broker!: YieldingBroker
  /** Publications without an answer. */
  pending = 0
  isClosing = false
  isClosed = false
  readonly #world: World
  readonly #audit: Audit

  constructor(
    world: World,
    name: string,
    audit: Audit,
    servers: readonly string[],
    settings: ServiceSettings,
    topics: readonly string[],
  ) {
    this.#world = world
    this.#audit = audit
    this.process = world.process(name)
    this.process.run(() => {
      const more = { compression_type: settings.compression, max_request_bytes: settings.maxRequestBytes }
      this.broker = new KafkaProducer(kafkaOptions(servers, more), { log: this.#log(), metrics: NO_METRICS })
      if (settings.prepared !== undefined) this.broker.prepare(topics.slice(0, settings.prepared))
    })
  }

  /** Publishes a record, as an event of the process. */
  publish(publication: Publication): void {
    this.pending++
    this.process.run(() => void this.#publish(publication))
  }

  close(): void {
    this.isClosing = true
    this.process.run(() => {
      void this.#close()
    })
  }

  async #close(): Promise<void> {
    await this.broker.close()
    if (this.pending > 0) this.#world.violate(`closed before ${this.pending} were answered`)
    this.isClosed = true
    this.#world.tell(this.process.name, "closed")
  }

  async #publish(publication: Publication): Promise<void> {
    const { topic, key, value, timeoutMs } = publication
    publication.publishedMs = this.#world.nowMs
    try {
      const record = { topic, key: key === undefined ? undefined : Buffer.from(key), value }
      const receipt = await this.broker.publish(record, steadyMs() + timeoutMs)
      this.#audit.acknowledged(publication, receipt)
    } catch (error) {
      if (!(error instanceof PublishError)) throw error
      this.#audit.rejected(publication, error.code)
    } finally {
      this.pending--
    }
  }

  #log(): Logger {
    const write =
      (level: string) =>
      (...given: unknown[]): void => {
        const fields = given.length > 1 ? ` ${JSON.stringify(given[0], withoutErrors)}` : ""
        this.#world.tell(this.process.name, `${level}: ${String(given.at(-1))}${fields}`)
        if (given.length > 1 && (given[0] as { err?: unknown }).err !== undefined)
          this.#world.violate(`an error of the program: ${Bun.inspect((given[0] as { err: unknown }).err)}`)
      }
    const silent = (): void => {}
    const log: Logger = {
      level: "info",
      isLevelEnabled: (level) => level !== "debug" && level !== "trace",
      trace: silent,
      debug: silent,
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
      fatal: write("fatal"),
      child: () => log,
    }
    return log
  }
}

const withoutErrors = (_name: string, value: unknown): unknown =>
  value instanceof Error ? value.message : value

const NO_METRICS = { batch() {}, retried() {}, connected() {}, incident() {} }
