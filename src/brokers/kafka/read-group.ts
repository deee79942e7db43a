import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { Admin, Consumer, type ConsumerOptions } from "./client-library.ts"
import type { ConnectionOptions } from "node:tls"
import { steadyMs } from "../../clock/clock.ts"
import { formatEndpoint } from "../../addresses/endpoint.ts"
import { HooklineError } from "../../errors.ts"
import type { GroupAssigned, GroupOffsets, ReadGroup } from "../broker.ts"
import { kafkaClient, type KafkaClient } from "./connection.ts"
import { errorCodeOf, unavailable } from "./failure.ts"
import { orUnavailable } from "./leaders.ts"
import type { KafkaOptions } from "./options.ts"
import { CONNECT_TIMEOUT_MS, GROUP_MS, READ_TIMEOUT_MS } from "./timeouts.ts"

/*
 * Membership of a consumer group, by the client library's Consumer: it joins, heartbeats, joins again when members come or
 * go, commits and leaves. Records are read elsewhere. A member that is not assigned anew in time, or fenced, fails to commit.
 *
 * A group is paused while a second one, `<group>.paused`, which has no members, has committed 1 for partition 0 of the topic.
 * All members see it, on any machine, and it lasts as long as offsets do. Members commit it again along with their own offsets.
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
    ...baseOf(client),
    groupId: group,
    autocommit: false,
    sessionTimeout: GROUP_MS.session,
    rebalanceTimeout: GROUP_MS.session,
    heartbeatInterval: GROUP_MS.heartbeat,
  })
  const member = new KafkaGroup(consumer, client, { group, topic })
  try {
    consumer.topics.trackAll(topic)
    await orUnavailable(consumer.joinGroup())
    return member
  } catch (error) {
    await member.close()
    if (errorCodeOf(error) !== ERROR.GROUP_AUTHORIZATION_FAILED) throw error
    const reason = `the user of the Kafka connection lacks READ on the group ${group}`
    throw new HooklineError("unavailable", reason, { cause: error })
  }
}

/** @throws HooklineError `unavailable`, `config` */
export const pauseKafkaGroup = (
  options: KafkaOptions,
  group: string,
  topic: string,
  isPaused: boolean,
): Promise<void> => withAdmin(options, (admin) => writePaused(admin, { group, topic }, isPaused))

const MOST_GROUPS = 1000

/** The consumer groups that this client may describe. @throws HooklineError `unavailable`, `config` */
export const listKafkaGroups = (options: KafkaOptions): Promise<readonly GroupOffsets[]> =>
  withAdmin(options, async (admin) => {
    const listed = [...(await admin.listGroups()).values()]
      // some consumers commit without ever joining
      .filter(({ protocolType }) => protocolType === "consumer" || protocolType === "")
      .filter(({ id }) => !id.endsWith(PAUSED))
      .slice(0, MOST_GROUPS)
    if (listed.length === 0) return []
    const groups = listed.map(({ id }) => id)
    const offsets = await admin.listConsumerGroupOffsets({ groups })
    const described = await admin.describeGroups({ groups })
    return listed.map(({ id, state }) => ({
      group: id,
      state,
      members: described.get(id)?.members.size,
      committed: new Map(
        (offsets.find(({ groupId }) => groupId === id)?.topics ?? []).map(({ name, partitions }) => [
          name,
          new Map(
            partitions
              .filter(({ committedOffset }) => committedOffset >= 0n)
              .map(({ partitionIndex, committedOffset }) => [partitionIndex, Number(committedOffset)]),
          ),
        ]),
      ),
    }))
  })

async function withAdmin<T>(options: KafkaOptions, use: (admin: Admin) => Promise<T>): Promise<T> {
  const client = kafkaClient(options)
  await client.tlsFiles?.refresh()
  const admin = new Admin(baseOf(client))
  try {
    return await orUnavailable(use(admin))
  } finally {
    await admin.close()
    client.tokens?.close()
  }
}

/** Ends the names of the groups that pause others. */
const PAUSED = ".paused"

interface GroupOfTopic {
  readonly group: string
  readonly topic: string
}

function writePaused(admin: Admin, { group, topic }: GroupOfTopic, isPaused: boolean): Promise<void> {
  const partitionOffsets = [{ partition: 0, offset: isPaused ? 1n : 0n }]
  const topics = [{ name: topic, partitionOffsets }]
  return orUnavailable(admin.alterConsumerGroupOffsets({ groupId: group + PAUSED, topics }))
}

async function readPaused(admin: Admin, { group, topic }: GroupOfTopic): Promise<boolean> {
  const groups = [{ groupId: group + PAUSED, topics: [{ name: topic, partitionIndexes: [0] }] }]
  try {
    const [found] = await admin.listConsumerGroupOffsets({ groups })
    return found?.topics[0]?.partitions[0]?.committedOffset === 1n
  } catch (error) {
    // a user without READ on it can't have paused it
    if (errorCodeOf(error) === ERROR.GROUP_AUTHORIZATION_FAILED) return false
    throw unavailable(error)
  }
}

const baseOf = (client: KafkaClient) => ({
  clientId: client.clientId,
  bootstrapBrokers: client.bootstrap.map(formatEndpoint),
  connectTimeout: CONNECT_TIMEOUT_MS.longest,
  requestTimeout: READ_TIMEOUT_MS,
  ...securityOf(client),
})

type Security = Pick<ConsumerOptions<Buffer, Buffer, Buffer, Buffer>, "tls" | "sasl">

function securityOf({ tlsFiles, sasl }: KafkaClient): Security {
  // without a server name the certificate is checked for the host, be it a name or an address
  const shown =
    tlsFiles === undefined
      ? {}
      : { tls: { ...(tlsFiles.current as ConnectionOptions), rejectUnauthorized: true } }
  if (sasl === undefined) return shown
  if (sasl.mechanism !== "OAUTHBEARER") return { ...shown, sasl }
  const { mechanism, token, extensions } = sasl
  return { ...shown, sasl: { mechanism, token, oauthBearerExtensions: extensions } }
}

class KafkaGroup implements ReadGroup {
  readonly #consumer: Consumer
  readonly #client: KafkaClient
  readonly #of: GroupOfTopic
  readonly #admin: Admin
  /** The last answer, or the first one to come. */
  #paused: Promise<boolean> | undefined
  #pausedUntilMs = 0
  /** Aborted when the assignment ends. */
  #assignment = new AbortController()
  /** Why it is no longer a member; undefined: it is one. */
  #failure: HooklineError | undefined
  readonly #last = new Map<number, number>()
  readonly #again: Timer

  constructor(consumer: Consumer, client: KafkaClient, of: GroupOfTopic) {
    this.#consumer = consumer
    this.#client = client
    this.#of = of
    this.#admin = new Admin(baseOf(client))
    this.#again = setInterval(() => this.#commitAgain().catch((error) => this.#fail(error)), GROUP_MS.again)
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
    return this.#consumer.assignments?.find(({ topic }) => topic === this.#of.topic)?.partitions ?? []
  }

  async commit(next: ReadonlyMap<number, number>): Promise<void> {
    // for a partition that was reassigned, its new member's position counts
    const own = new Set(this.#partitions)
    const offsets = Array.from(next, ([partition, offset]) => {
      return { topic: this.#of.topic, partition, offset: BigInt(offset), leaderEpoch: -1 }
    }).filter(({ partition }) => own.has(partition))
    if (offsets.length === 0) return
    await orUnavailable(this.#consumer.commit({ offsets }))
    for (const { partition, offset } of offsets) this.#last.set(partition, Number(offset))
  }

  isPaused(): Promise<boolean> {
    const before = this.#paused
    if (before !== undefined && steadyMs() < this.#pausedUntilMs) return before
    this.#pausedUntilMs = steadyMs() + GROUP_MS.paused
    const next = readPaused(this.#admin, this.#of)
    return (this.#paused = before === undefined ? next : next.catch(() => before))
  }

  async #commitAgain(): Promise<void> {
    await this.commit(this.#last)
    if (await this.isPaused()) await writePaused(this.#admin, this.#of, true)
  }

  async close(): Promise<void> {
    clearInterval(this.#again)
    this.#end()
    this.#consumer.removeAllListeners("error").on("error", () => {})
    // a broker that does not answer removes the member when its session ends
    await Promise.allSettled([this.#consumer.close(true), this.#admin.close()])
    this.#client.tokens?.close()
  }

  async #committed(partitions: number[]): Promise<(number | undefined)[]> {
    const topics = [{ topic: this.#of.topic, partitions }]
    const found = await orUnavailable(this.#consumer.listCommittedOffsets({ topics }))
    return (found.get(this.#of.topic) ?? []).map((offset) => (offset < 0n ? undefined : Number(offset)))
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
