import {
  ConfigResourceTypes,
  createTopicsV4,
  createTopicsV5,
  createTopicsV7,
  describeConfigsV1,
  describeConfigsV4,
} from "@platformatic/kafka"
import type { KafkaConnection } from "./kafka-connection.ts"
import { partial } from "./kafka-failure.ts"
import { nameOf, TOPIC_EXISTS } from "./kafka-verdict.ts"

export const DESCRIBE_CONFIGS = [describeConfigsV4, describeConfigsV1]
/** The first that take the broker's own defaults is 4. */
const CREATE_TOPICS = [createTopicsV7, createTopicsV5, createTopicsV4]
const BROKER_DEFAULT = -1
const CREATE_MS = 5000

/**
 * Creates topics with the cluster's default partitions and replicas, where `auto.create.topics.enable` allows that. A
 * metadata request could do so as well, but would create one again that somebody has just deleted.
 *
 * @param broker that the connection goes to: each is asked for its own configuration
 * @returns what became of each topic
 * @throws what a request failed with
 */
export async function createTopics(
  connection: KafkaConnection,
  broker: number,
  topics: readonly string[],
): Promise<ReadonlyMap<string, Creation>> {
  const resource = {
    resourceType: ConfigResourceTypes.BROKER,
    resourceName: `${broker}`,
    configurationKeys: [AUTO_CREATE],
  }
  const described = await partial(connection.request(DESCRIBE_CONFIGS, [resource], false, false))
  const allowed = described.results[0]?.configs.find(({ name }) => name === AUTO_CREATE)?.value
  if (allowed !== "true") {
    const why = allowed === "false" ? `${AUTO_CREATE} is false` : `${AUTO_CREATE} is not known`
    return new Map(topics.map((topic) => [topic, { problem: why, isFinal: true }]))
  }
  const requested = topics.map((name) => ({
    name,
    numPartitions: BROKER_DEFAULT,
    replicationFactor: BROKER_DEFAULT,
    assignments: [],
    configs: [],
  }))
  const created = await partial(connection.request(CREATE_TOPICS, requested, CREATE_MS, false))
  const answers = new Map(created.topics.map((topic) => [topic.name, topic]))
  return new Map(topics.map((topic) => [topic, outcomeOf(answers.get(topic))]))
}

/** What became of a topic that was to be created. */
export interface Creation {
  /** Why it was not; undefined: it was, or exists. */
  readonly problem: string | undefined
  /** Whether another try would end in the same way. */
  readonly isFinal: boolean
}

function outcomeOf(
  answer: { errorCode: number; errorMessage?: string | null | undefined } | undefined,
): Creation {
  if (answer === undefined) return { problem: "the cluster did not say", isFinal: false }
  const { errorCode, errorMessage } = answer
  if (errorCode === 0 || errorCode === TOPIC_EXISTS) return { problem: undefined, isFinal: true }
  return { problem: errorMessage ?? `error ${nameOf(errorCode)}`, isFinal: !PASSING.includes(errorCode) }
}

/** UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, INVALID_REPLICATION_FACTOR (brokers may be starting), NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED */
const PASSING = [-1, 7, 38, 41, 89]
const AUTO_CREATE = "auto.create.topics.enable"
