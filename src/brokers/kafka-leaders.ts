import { HooklineError } from "../errors.ts"
import { METADATA, type Metadata } from "./kafka-cluster.ts"
import { KafkaConnection, openToAny, type KafkaClient } from "./kafka-connection.ts"
import { orUnavailable, partial } from "./kafka-failure.ts"
import { INVALID_TOPIC, TOPIC_NOT_ALLOWED, UNKNOWN_TOPIC } from "./kafka-verdict.ts"

/** A leader and what it leads of a topic. */
export interface Led {
  readonly connection: KafkaConnection
  readonly partitions: readonly number[]
}

/** Connections to the leaders of topics, for the reading side. Nothing is created on the cluster. */
export class KafkaLeaders {
  readonly #client: KafkaClient
  #any: Promise<KafkaConnection> | undefined
  readonly #leaders = new Map<number, Promise<KafkaConnection>>()
  readonly #led = new Map<string, Promise<Led[]>>()
  #closed = false

  constructor(client: KafkaClient) {
    this.#client = client
  }

  /** Names of all topics but Kafka's own. */
  async topics(): Promise<string[]> {
    const { topics } = await this.#metadata(null)
    return topics.filter(({ isInternal }) => !isInternal).map(({ name }) => name ?? "")
  }

  /**
   * The leaders of a topic's partitions.
   *
   * @throws HooklineError `no_topic`, `unavailable`
   */
  of(topic: string): Promise<Led[]> {
    let led = this.#led.get(topic)
    if (led === undefined) {
      led = this.#find(topic)
      this.#led.set(topic, led)
    }
    return led
  }

  /** Forgets what is known, since it has proved wrong. */
  reset(): void {
    for (const connection of [this.#any, ...this.#leaders.values()]) void drop(connection)
    this.#any = undefined
    this.#leaders.clear()
    this.#led.clear()
  }

  close(): void {
    this.#closed = true
    this.reset()
  }

  async #find(topic: string): Promise<Led[]> {
    const { brokers, topics } = await this.#metadata([topic])
    const found = topics.find(({ name }) => name === topic)
    if (found === undefined || found.errorCode === UNKNOWN_TOPIC || found.errorCode === INVALID_TOPIC) {
      throw new HooklineError("no_topic", `topic ${topic} does not exist`)
    }
    if (found.errorCode === TOPIC_NOT_ALLOWED) {
      throw new HooklineError("refused", `this client is not authorized to read topic ${topic}`)
    }
    const byLeader = Map.groupBy(found.partitions, ({ leaderId }) => leaderId)
    const led = [...byLeader].map(async ([id, partitions]): Promise<Led> => {
      const endpoint = brokers.find(({ nodeId }) => nodeId === id)
      if (endpoint === undefined || found.errorCode !== 0) {
        throw new HooklineError("unavailable", `partitions of topic ${topic} have no leader now`)
      }
      let connection = this.#leaders.get(id)
      if (connection === undefined) {
        connection = this.#unlessClosed(KafkaConnection.open(this.#client, endpoint, ANSWER_MS))
        this.#leaders.set(id, connection)
      }
      return {
        connection: await connection,
        partitions: partitions.map(({ partitionIndex }) => partitionIndex),
      }
    })
    return Promise.all(led)
  }

  async #metadata(topics: string[] | null): Promise<Metadata> {
    this.#any ??= this.#unlessClosed(openToAny(this.#client, this.#client.bootstrap, ANSWER_MS))
    return orUnavailable(partial((await this.#any).request(METADATA, topics, false, false)))
  }

  async #unlessClosed(opening: Promise<KafkaConnection>): Promise<KafkaConnection> {
    const connection = await orUnavailable(opening)
    if (!this.#closed) return connection
    connection.close()
    throw new HooklineError("closing", "the connection is closing")
  }
}

/** Closes a connection, also one that is yet to open. One that failed to open has nothing to close. */
async function drop(opening: Promise<KafkaConnection> | undefined): Promise<void> {
  const [connection] = await Promise.allSettled([opening])
  if (connection?.status === "fulfilled") connection.value?.close()
}

const ANSWER_MS = 10_000
