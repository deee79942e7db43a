import { Consumer, type ConsumerOptions } from "@platformatic/kafka"
import type { ConnectionOptions } from "node:tls"
import { formatEndpoint } from "../../config/sections/endpoint.ts"
import { HooklineError } from "../../errors.ts"
import type { GroupAssigned, ReadGroup } from "../broker.ts"
import { kafkaClient, type KafkaClient } from "./connection.ts"
import { unavailable } from "./failure.ts"
import { orUnavailable } from "./leaders.ts"
import type { KafkaOptions } from "./options.ts"
import { CONNECT_TIMEOUT_MS, GROUP_MS, READ_TIMEOUT_MS } from "./timeouts.ts"

/*
 * Membership of a consumer group, by the client library's Consumer: it joins, heartbeats, joins again when members come or
 * go, commits and leaves. Records are read elsewhere. A member that is not assigned anew in time, or fenced, fails to commit.
 */

/** Joins a group that reads one topic. @throws HooklineError `unavailable`, `config` */
export async function joinKafkaGroup(
  options: KafkaOptions,
  group: string,
  topic: string,
): Promise<ReadGroup> {
  const client = kafkaClient(options)
  await client.tlsFiles?.refresh()
  const consumer = new Consumer({
    clientId: client.clientId,
    groupId: group,
    bootstrapBrokers: client.bootstrap.map(formatEndpoint),
    connectTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: READ_TIMEOUT_MS,
    autocommit: false,
    sessionTimeout: GROUP_MS.session,
    rebalanceTimeout: GROUP_MS.session,
    heartbeatInterval: GROUP_MS.heartbeat,
    ...securityOf(client),
  })
  const member = new KafkaGroup(consumer, client, topic)
  try {
    consumer.topics.trackAll(topic)
    await orUnavailable(consumer.joinGroup())
    return member
  } catch (error) {
    await member.close()
    throw error
  }
}

type Security = Pick<ConsumerOptions<Buffer, Buffer, Buffer, Buffer>, "tls" | "tlsServerName" | "sasl">

function securityOf({ security: { tls, sasl } }: KafkaClient): Security {
  const shown =
    tls === undefined
      ? {}
      : { tls: { ...(tls as ConnectionOptions), rejectUnauthorized: true }, tlsServerName: true }
  if (sasl === undefined) return shown
  if (sasl.mechanism !== "OAUTHBEARER") return { ...shown, sasl }
  const { mechanism, token, extensions } = sasl
  return { ...shown, sasl: { mechanism, token, oauthBearerExtensions: extensions } }
}

class KafkaGroup implements ReadGroup {
  readonly #consumer: Consumer
  readonly #client: KafkaClient
  readonly #topic: string
  /** Aborted when the assignment ends. */
  #assignment = new AbortController()
  /** Why it is no longer a member; undefined: it is one. */
  #failure: HooklineError | undefined
  readonly #last = new Map<number, number>()
  readonly #again: Timer

  constructor(consumer: Consumer, client: KafkaClient, topic: string) {
    this.#consumer = consumer
    this.#client = client
    this.#topic = topic
    this.#again = setInterval(
      () => this.commit(this.#last).catch((error) => this.#fail(error)),
      GROUP_MS.again,
    )
    consumer.on("consumer:group:rebalance", () => this.#end())
    consumer.on("consumer:group:join", () => this.#end())
    consumer.on("consumer:heartbeat:stalled", () =>
      this.#fail(new HooklineError("unavailable", "no heartbeat was answered")),
    )
    consumer.on("error", (error: unknown) => this.#fail(unavailable(error)))
  }

  async assigned(): Promise<GroupAssigned> {
    const { signal } = this.#assignment
    if (this.#failure !== undefined) throw this.#failure
    const partitions = this.#partitions
    const committed = partitions.length === 0 ? [] : await this.#committed(partitions)
    this.#last.clear()
    return {
      next: new Map(partitions.map((partition, at) => [partition, committed[at]])),
      ended: signal,
    }
  }

  get #partitions(): number[] {
    return this.#consumer.assignments?.find(({ topic }) => topic === this.#topic)?.partitions ?? []
  }

  async commit(next: ReadonlyMap<number, number>): Promise<void> {
    // for a partition that was reassigned, its new member's position counts
    const own = new Set(this.#partitions)
    const offsets = Array.from(next, ([partition, offset]) => {
      return { topic: this.#topic, partition, offset: BigInt(offset), leaderEpoch: -1 }
    }).filter(({ partition }) => own.has(partition))
    if (offsets.length === 0) return
    await orUnavailable(this.#consumer.commit({ offsets }))
    for (const { partition, offset } of offsets) this.#last.set(partition, Number(offset))
  }

  async close(): Promise<void> {
    clearInterval(this.#again)
    this.#end()
    this.#consumer.removeAllListeners("error").on("error", () => {})
    // a broker that does not answer removes the member when its session ends
    await this.#consumer.close(true).catch(() => {})
    this.#client.tokens?.close()
  }

  async #committed(partitions: number[]): Promise<(number | undefined)[]> {
    const topics = [{ topic: this.#topic, partitions }]
    const found = await orUnavailable(this.#consumer.listCommittedOffsets({ topics }))
    return (found.get(this.#topic) ?? []).map((offset) => (offset < 0n ? undefined : Number(offset)))
  }

  #end(): void {
    this.#assignment.abort()
    this.#assignment = new AbortController()
  }

  #fail(failure: HooklineError): void {
    this.#failure ??= failure
    this.#assignment.abort()
  }
}
