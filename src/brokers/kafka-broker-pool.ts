import { type Endpoint, formatEndpoint } from "../config/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { KafkaConnection, type KafkaClient } from "./kafka-connection.ts"

/** What a broker answered, and the connection that it answered on. */
export interface Answered<T> {
  readonly answer: T
  readonly connection: KafkaConnection
}

/**
 * Brokers that questions about the cluster are put to, each question to the next of them: what one broker says may be old,
 * when it is cut off from the others, and one that fails or hangs holds nothing up. A few connections are kept, to the
 * brokers that answered last.
 */
export class BrokerPool {
  readonly #client: KafkaClient
  /** In the order in which they are asked; those that failed are behind the others. */
  #endpoints: readonly Endpoint[]
  readonly #connections = new Map<string, KafkaConnection>()
  #turn = 0
  #closed = false

  constructor(client: KafkaClient) {
    this.#client = client
    this.#endpoints = client.bootstrap
  }

  /** Takes the brokers of the cluster, beside those that the configuration names. */
  know(brokers: readonly Endpoint[]): void {
    const all = distinct([...this.#client.bootstrap, ...brokers])
    const known = this.#endpoints.filter((one) => all.some((other) => isSame(one, other)))
    this.#endpoints = distinct([...known, ...all])
  }

  /**
   * Puts a question to the broker whose turn it is, and to the next one when that fails, or does not answer within HEDGE_MS.
   *
   * @throws what the last of them failed with, when all did
   */
  ask<T>(question: (connection: KafkaConnection) => Promise<T>): Promise<Answered<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<Answered<T>>()
    const waiting = this.#inTurn()
    let asked = 0
    let hedge: Timer | undefined
    const next = (): void => {
      clearTimeout(hedge)
      const endpoint = waiting.shift()
      if (endpoint === undefined) return
      asked++
      hedge = setTimeout(next, HEDGE_MS)
      this.#put(endpoint, question).then(answered, failed)
    }
    const answered = (answer: Answered<T>): void => {
      clearTimeout(hedge)
      waiting.length = 0
      resolve(answer)
    }
    const failed = (error: unknown): void => {
      asked--
      if (waiting.length > 0) return next()
      if (asked > 0) return
      clearTimeout(hedge)
      reject(error)
    }
    if (waiting.length === 0) reject(new HooklineError("unavailable", "there is no broker to connect to"))
    next()
    return promise
  }

  close(): void {
    this.#closed = true
    for (const connection of this.#connections.values()) connection.close()
  }

  /** All of them, that of the turn first. Turns go round the first KEPT. */
  #inTurn(): Endpoint[] {
    const kept = Math.min(KEPT, this.#endpoints.length)
    const first = this.#endpoints[this.#turn++ % kept]
    return this.#endpoints.toSorted((a, b) => Number(b === first) - Number(a === first))
  }

  async #put<T>(
    endpoint: Endpoint,
    question: (connection: KafkaConnection) => Promise<T>,
  ): Promise<Answered<T>> {
    try {
      const connection = await this.#connect(endpoint)
      return { answer: await question(connection), connection }
    } catch (error) {
      this.#drop(endpoint)
      this.#endpoints = [...this.#endpoints.filter((one) => !isSame(one, endpoint)), endpoint]
      throw error
    }
  }

  async #connect(endpoint: Endpoint): Promise<KafkaConnection> {
    const name = formatEndpoint(endpoint)
    const known = this.#connections.get(name)
    if (known?.open === true) return known
    this.#drop(endpoint)
    const connection = await KafkaConnection.open(this.#client, endpoint, ANSWER_MS)
    if (this.#closed) connection.close()
    this.#drop(endpoint)
    this.#connections.set(name, connection)
    for (const [oldest, { endpoint: other }] of this.#connections) {
      if (this.#connections.size <= KEPT) break
      if (oldest !== name) this.#drop(other)
    }
    return connection
  }

  #drop(endpoint: Endpoint): void {
    const name = formatEndpoint(endpoint)
    this.#connections.get(name)?.close()
    this.#connections.delete(name)
  }
}

const isSame = (one: Endpoint, other: Endpoint): boolean => formatEndpoint(one) === formatEndpoint(other)

function distinct(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints
    .filter((endpoint, at) => endpoints.findIndex((other) => isSame(endpoint, other)) === at)
    .map(({ host, port }) => ({ host, port }))
}

/** How many brokers are asked in turn, over connections that are kept. */
const KEPT = 3
/** A broker that does not answer for so long is taken to be gone. */
const ANSWER_MS = 2000
/** After this time another broker is asked as well. */
const HEDGE_MS = 500
