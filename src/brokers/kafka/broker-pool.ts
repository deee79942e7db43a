import { type EndpointOptions, formatEndpoint } from "../../addresses/endpoint.ts"
import { HooklineError } from "../../errors.ts"
import { KafkaConnection, type KafkaClient } from "./connection.ts"
import { AdaptiveTimeout } from "./adaptive-timeout.ts"
import { METADATA_HEDGE_MS, METADATA_TIMEOUT_MS } from "./timeouts.ts"

export interface NodeAnswer<T> {
  readonly answer: T
  readonly connection: KafkaConnection
}

/**
 * Brokers that are asked about the cluster in rotation: one that is cut off from the others may answer with old metadata,
 * and one that fails or hangs delays nothing. A few connections are kept, to the brokers that answered last.
 */
export class BrokerPool {
  readonly #client: KafkaClient
  /** By name, in the order in which they are asked; those that failed come last. */
  readonly #endpoints: Map<string, EndpointOptions>
  readonly #connections = new Map<string, KafkaConnection>()
  /** Of connecting and asking. */
  readonly #timeout = new AdaptiveTimeout(METADATA_TIMEOUT_MS)
  #asks = 0
  #closed = false

  constructor(client: KafkaClient) {
    this.#client = client
    this.#endpoints = new Map(client.bootstrap.map(named))
  }

  /** Adds the brokers of the cluster to those of the configuration. */
  know(brokers: readonly EndpointOptions[]): void {
    const known = new Map([...this.#client.bootstrap, ...brokers].map(named))
    for (const name of this.#endpoints.keys()) if (!known.has(name)) this.#endpoints.delete(name)
    for (const [name, endpoint] of known) this.#endpoints.set(name, endpoint)
  }

  /** Asks one broker, and another whenever that fails or takes METADATA_HEDGE_MS. @throws the last failure, when all failed */
  ask<T>(question: (connection: KafkaConnection) => Promise<T>): Promise<NodeAnswer<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<NodeAnswer<T>>()
    const left = this.#closed ? [] : this.#inOrder()
    let asked = 0
    let hedge: Timer | undefined
    const next = (): void => {
      clearTimeout(hedge)
      const broker = this.#closed ? undefined : left.shift()
      if (broker === undefined) return
      asked++
      hedge = setTimeout(next, METADATA_HEDGE_MS)
      this.#put(broker, question).then(answered, failed)
    }
    const answered = (answer: NodeAnswer<T>): void => {
      clearTimeout(hedge)
      left.length = 0
      resolve(answer)
    }
    const failed = (error: unknown): void => {
      asked--
      if (left.length > 0 && !this.#closed) return next()
      if (asked > 0) return
      clearTimeout(hedge)
      reject(error)
    }
    if (left.length === 0) reject(new HooklineError("unavailable", "no broker to connect to"))
    next()
    return promise
  }

  close(): void {
    this.#closed = true
    for (const connection of this.#connections.values()) connection.close()
  }

  /** All of them, the next one first: the first KEPT in rotation. */
  #inOrder(): Named[] {
    const all = [...this.#endpoints]
    const first = all.splice(this.#asks++ % Math.min(KEPT, all.length), 1)
    return [...first, ...all]
  }

  async #put<T>(
    broker: Named,
    question: (connection: KafkaConnection) => Promise<T>,
  ): Promise<NodeAnswer<T>> {
    const [name, endpoint] = broker
    let connection: KafkaConnection | undefined
    try {
      return await this.#timeout.measure(async (timeoutMs) => {
        connection = await this.#connect(broker, timeoutMs)
        return { answer: await question(connection), connection }
      })
    } catch (error) {
      // another question may have opened a newer one
      connection?.close()
      if (this.#connections.get(name) === connection) this.#connections.delete(name)
      if (this.#endpoints.delete(name)) this.#endpoints.set(name, endpoint)
      throw error
    }
  }

  async #connect([name, endpoint]: Named, timeoutMs: number): Promise<KafkaConnection> {
    const known = this.#connections.get(name)
    if (known !== undefined && (await known.usable())) return known
    if (known === this.#connections.get(name)) this.#drop(name)
    const connection = await KafkaConnection.open(this.#client, endpoint, timeoutMs)
    if (this.#closed) connection.close()
    // another ask has connected meanwhile, and may be waiting for its answer
    const other = this.#connections.get(name)
    if (other?.open === true) {
      connection.close()
      return other
    }
    this.#drop(name)
    this.#connections.set(name, connection)
    for (const oldest of this.#connections.keys()) {
      if (this.#connections.size <= KEPT) break
      if (oldest !== name) this.#drop(oldest)
    }
    return connection
  }

  #drop(name: string): void {
    this.#connections.get(name)?.close()
    this.#connections.delete(name)
  }
}

type Named = [name: string, EndpointOptions]
const named = ({ host, port }: EndpointOptions): Named => [formatEndpoint({ host, port }), { host, port }]

/** How many brokers are asked in rotation, over connections that are kept. */
const KEPT = 3
