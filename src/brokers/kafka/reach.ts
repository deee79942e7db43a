import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { counted } from "../../words.ts"
import { formatEndpoint, type EndpointOptions } from "../../addresses/endpoint.ts"
import { type AccessToken, type AccessTokens, TokenFailure } from "./auth/access-tokens.ts"
import { KafkaConnection, kafkaClient, type KafkaClient } from "./connection.ts"
import type { Reached } from "../define-connection.ts"
import type { KafkaOptions } from "./options.ts"
import { brokerFailureOf, partial, reasonOf } from "./failure.ts"
import { ADVERTISED } from "./hints.ts"
import { METADATA, type Metadata, type TopicMetadata } from "./metadata.ts"
import { READ_TIMEOUT_MS } from "./timeouts.ts"

/**
 * Connects to each bootstrap server, then to each broker at the address that the cluster advertises, and asks for the
 * topics. Creates and publishes nothing.
 *
 * @returns a line for each address and topic; usable: every advertised broker answers, and no topic is refused
 */
export async function reachKafka(options: KafkaOptions, topics: readonly string[]): Promise<Reached> {
  const client = kafkaClient(options)
  try {
    const token = await client.tokens?.get()
    const issued = token && [describeToken(client.tokens!, token)]
    const { isUsable, answers } = await reachBrokers(client, topics)
    return { isUsable, answers: [...(issued ?? []), ...answers] }
  } catch (error) {
    if (error instanceof TokenFailure) return { isUsable: false, answers: [error.message] }
    throw error
  } finally {
    client.tokens?.close()
  }
}

function describeToken({ issuer }: AccessTokens, { lifetimeMs }: AccessToken): string {
  return `${issuer.name}: a token for ${Math.round(lifetimeMs / 1000)} s`
}

async function reachBrokers(client: KafkaClient, topics: readonly string[]): Promise<Reached> {
  const asked = await Promise.all(client.bootstrap.map((endpoint) => ask(client, endpoint, topics)))
  const answers = asked.map(({ endpoint, problem }) => `${formatEndpoint(endpoint)} ${problem ?? "answers"}`)
  const metadata = asked.find((it) => it.metadata !== undefined)?.metadata
  if (metadata === undefined) return { isUsable: false, answers }
  const advertised = await Promise.all(
    metadata.brokers.map(async ({ nodeId, host, port }) => {
      const { problem } = await ask(client, { host, port }, [], ADVERTISED)
      const at = `broker ${nodeId}, advertised as ${formatEndpoint({ host, port })},`
      return { problem, answer: `${at} ${problem ?? "answers"}` }
    }),
  )
  const found = metadata.topics.map((topic) => ({ ...judge(topic), name: topic.name ?? "" }))
  return {
    isUsable: [...advertised, ...found].every(({ problem }) => problem === undefined),
    answers: [
      ...answers,
      ...advertised.map(({ answer }) => answer),
      ...found.map(({ name, problem, state }) => `topic ${name} ${problem ?? state}`),
    ],
  }
}

interface Asked {
  readonly endpoint: EndpointOptions
  readonly metadata?: Metadata
  /** Follows the address. */
  readonly problem?: string
}

/** @param otherwise the hint for a failure that says nothing of the configuration */
async function ask(
  client: KafkaClient,
  endpoint: EndpointOptions,
  topics: readonly string[],
  otherwise?: string,
): Promise<Asked> {
  let connection: KafkaConnection | undefined
  try {
    connection = await KafkaConnection.open(client, endpoint, READ_TIMEOUT_MS)
    const metadata = await partial(connection.request(METADATA, [...topics], false, false))
    return { endpoint, metadata }
  } catch (error) {
    const hint = brokerFailureOf(error)?.hint ?? otherwise
    return { endpoint, problem: `can't be used: ${reasonOf(error)}${hint === undefined ? "" : `; ${hint}`}` }
  } finally {
    connection?.close()
  }
}

function judge({ errorCode, partitions }: TopicMetadata): {
  readonly problem?: string
  readonly state?: string
} {
  switch (errorCode) {
    case ERROR.UNKNOWN_TOPIC_OR_PARTITION:
      return { state: "does not exist; a start creates it, where the cluster allows that" }
    case ERROR.TOPIC_AUTHORIZATION_FAILED:
    case ERROR.CLUSTER_AUTHORIZATION_FAILED:
      return { problem: "is not authorized for this client" }
    case ERROR.INVALID_TOPIC_EXCEPTION:
      return { problem: "has an invalid name" }
    default: {
      const leaderless = partitions.filter(({ leaderId }) => leaderId < 0).length
      if (leaderless > 0)
        return { problem: `has ${leaderless} of ${partitions.length} partitions without a leader` }
      return { state: `has ${counted(partitions.length, "partition")}` }
    }
  }
}
