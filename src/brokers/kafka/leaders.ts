import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { HooklineError } from "../../errors.ts"
import { BrokerPool } from "./broker-pool.ts"
import { KafkaConnection, type KafkaClient } from "./connection.ts"
import { partial, unavailable } from "./failure.ts"
import { METADATA, topicIdOf, type Metadata } from "./metadata.ts"
import { READ_TIMEOUT_MS } from "./timeouts.ts"

/** A leader and what it leads of a topic. */
export interface Led {
  readonly connection: KafkaConnection
  readonly partitions: readonly number[]
}

/** Connections to the leaders of topics. Nothing is created on the cluster. */
export class Leaders {
  readonly #client: KafkaClient
  #brokers: BrokerPool
  /** By node id. */
  readonly #connections = new Map<number, Promise<KafkaConnection>>()
  readonly #led = new Map<string, Promise<Led[]>>()

  constructor(client: KafkaClient) {
    this.#client = client
    this.#brokers = new BrokerPool(client)
  }

  /** Names of all topics but Kafka's own. */
  async topics(): Promise<string[]> {
    const { topics } = await this.#metadata(null)
    return topics.filter(({ isInternal }) => !isInternal).map(({ name }) => name ?? "")
  }

  /** undefined: the brokers give none. @throws HooklineError `unavailable` */
  async clusterId(): Promise<string | undefined> {
    const { clusterId } = await this.#metadata([])
    return clusterId ?? undefined
  }

  /** undefined: the brokers give none. @throws HooklineError `unavailable` */
  async topicId(topic: string): Promise<string | undefined> {
    const { topics } = await this.#metadata([topic])
    const found = topics.find(({ name }) => name === topic)
    return found && topicIdOf(found)
  }

  /** The leaders of a topic's partitions. @throws HooklineError `no_topic`, `refused`, `unavailable` */
  of(topic: string): Promise<Led[]> {
    return this.#led.getOrInsertComputed(topic, () => this.#find(topic))
  }

  /**
   * Forgets the leaders of a topic for what a request to them failed with; where that may be the connections' fault, those
   * too. Not where others have replaced them since.
   */
  forget(topic: string, led: Promise<Led[]>, error: unknown): void {
    if (this.#led.get(topic) !== led) return
    if (error instanceof HooklineError && error.code === "no_topic") this.#led.delete(topic)
    else this.reset()
  }

  /** Forgets all leaders, and drops their connections. */
  reset(): void {
    this.close()
    this.#connections.clear()
    this.#led.clear()
    this.#brokers = new BrokerPool(this.#client)
  }

  close(): void {
    this.#brokers.close()
    for (const connection of this.#connections.values()) void drop(connection)
  }

  async #find(topic: string): Promise<Led[]> {
    const { brokers, topics } = await this.#metadata([topic])
    const found = topics.find(({ name }) => name === topic)
    if (
      found === undefined ||
      found.errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION ||
      found.errorCode === ERROR.INVALID_TOPIC_EXCEPTION
    ) {
      throw new HooklineError("no_topic", `topic ${topic} does not exist`)
    }
    if (found.errorCode === ERROR.TOPIC_AUTHORIZATION_FAILED) {
      throw new HooklineError("refused", `this client is not authorized to read topic ${topic}`)
    }
    const byLeader = Map.groupBy(found.partitions, ({ leaderId }) => leaderId)
    const led = [...byLeader].map(async ([id, partitions]): Promise<Led> => {
      const endpoint = brokers.find(({ nodeId }) => nodeId === id)
      if (endpoint === undefined || found.errorCode !== 0) {
        throw new HooklineError("unavailable", `partitions of topic ${topic} have no leader now`)
      }
      const open = (): Promise<KafkaConnection> =>
        orUnavailable(KafkaConnection.open(this.#client, endpoint, READ_TIMEOUT_MS))
      const connection = await this.#connections.getOrInsertComputed(id, open)
      return { connection, partitions: partitions.map(({ partitionIndex }) => partitionIndex) }
    })
    return Promise.all(led)
  }

  async #metadata(topics: string[] | null): Promise<Metadata> {
    const asked = this.#brokers.ask((broker) => partial(broker.request(METADATA, topics, false, false)))
    return (await orUnavailable(asked)).answer
  }
}

/** Closes a connection, also one that is yet to open. One that failed to open has nothing to close. */
async function drop(opening: Promise<KafkaConnection>): Promise<void> {
  const [connection] = await Promise.allSettled([opening])
  if (connection.status === "fulfilled") connection.value.close()
}

/** @throws HooklineError `unavailable` when it fails with an error of the client library */
export async function orUnavailable<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    throw unavailable(error)
  }
}
