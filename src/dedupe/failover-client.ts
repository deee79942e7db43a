import type { Cluster, Redis, RedisOptions } from "ioredis"
import type { ConnectionOptions } from "node:tls"
import type { RedisUrl } from "../addresses/redis-url.ts"

/*
 * A client of the master that Sentinels name, or of a Cluster, by ioredis, which is loaded when it connects. An event costs
 * 8 to 10 us of CPU more than by Bun's client, which knows one server only.
 *
 *   master    the Sentinels are asked at each connection, in any order, so that those that do not answer are not always
 *             the first; when they announce another master, the connection is closed.
 *   Cluster   ioredis follows slots, sends again what a node did not answer, and closes when no node can be reached.
 */

const CONNECT_MS = 500
/** The connection to a Cluster's node that does not answer for this long is closed, and slots are looked up again. */
const NODE_SILENT_MS = 1000
const SLOTS_EVERY_MS = 2000

export class FailoverClient {
  /** Called when it has closed, for whatever reason. */
  onclose: (() => void) | undefined
  /** Whether one command may fail while others do not. */
  readonly hasNodes: boolean
  readonly #url: RedisUrl
  readonly #ca: string | undefined
  #client: Redis | Cluster | undefined
  #isClosed = false

  constructor(url: RedisUrl, ca: string | undefined) {
    this.#url = url
    this.#ca = ca
    this.hasNodes = url.kind === "cluster"
  }

  async connect(): Promise<void> {
    const ioredis = await import("ioredis")
    if (this.#isClosed) throw new Error("closed")
    const client = this.#open(ioredis)
    this.#client = client
    // it rejects commands, and `end` follows
    client.on("error", () => {})
    client.on("end", () => this.onclose?.())
    await client.connect()
  }

  send(command: string, args: string[]): Promise<unknown> {
    return this.#client!.call(command, args)
  }

  close(): void {
    this.#isClosed = true
    this.#client?.disconnect()
  }

  #open({ Cluster, Redis }: Pick<typeof import("ioredis"), "Cluster" | "Redis">): Redis | Cluster {
    const { addresses, user, password, isTls, master, database, sentinelPassword } = this.#url
    const tls: ConnectionOptions = this.#ca === undefined ? {} : { ca: this.#ca }
    const common = {
      ...(user === undefined ? {} : { username: user }),
      ...(password === undefined ? {} : { password }),
      ...(isTls ? { tls } : {}),
      protocol: 2,
      connectTimeout: CONNECT_MS,
      // their commands would need more permissions
      disableClientInfo: true,
      enableReadyCheck: false,
    } satisfies RedisOptions
    const inAnyOrder = addresses
      .map((address) => ({ address, at: Math.random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ address }) => address)
    if (this.hasNodes)
      return new Cluster(inAnyOrder, {
        lazyConnect: true,
        enableOfflineQueue: false,
        enableReadyCheck: false,
        clusterRetryStrategy: () => null,
        slotsRefreshTimeout: NODE_SILENT_MS,
        slotsRefreshInterval: SLOTS_EVERY_MS,
        redisOptions: { ...common, socketTimeout: NODE_SILENT_MS },
      })
    const client = new Redis({
      ...common,
      ...(isTls ? { enableTLSForSentinelMode: true, sentinelTLS: tls } : {}),
      ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
      sentinels: inAnyOrder,
      name: master,
      db: database,
      failoverDetector: true,
      lazyConnect: true,
      enableOfflineQueue: false,
      retryStrategy: null,
      sentinelRetryStrategy: () => null,
      sentinelCommandTimeout: CONNECT_MS,
      maxRetriesPerRequest: null,
    })
    silenceSentinels(client)
    return client
  }
}

/** ioredis prints the errors of its connections that watch for a failover, with stacks, unless they have a listener. */
function silenceSentinels(client: Redis): void {
  const { connector } = client as unknown as {
    connector: { connectToSentinel: (...given: readonly unknown[]) => Redis }
  }
  const connect = connector.connectToSentinel.bind(connector)
  connector.connectToSentinel = (...given) => connect(...given).on("error", () => {})
}
