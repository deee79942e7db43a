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
 * @returns for each topic, why it was not created; undefined: it was, or exists
 * @throws what a request failed with
 */
export async function createTopics(
  connection: KafkaConnection,
  broker: number,
  topics: readonly string[],
): Promise<Map<string, string | undefined>> {
  const resource = {
    resourceType: ConfigResourceTypes.BROKER,
    resourceName: `${broker}`,
    configurationKeys: [AUTO_CREATE],
  }
  const described = await partial(connection.request(DESCRIBE_CONFIGS, [resource], false, false))
  const allowed = described.results[0]?.configs.find(({ name }) => name === AUTO_CREATE)?.value
  if (allowed !== "true") {
    const why = allowed === "false" ? `${AUTO_CREATE} is false` : `${AUTO_CREATE} is not known`
    return new Map(topics.map((topic) => [topic, why]))
  }
  const requested = topics.map((name) => ({
    name,
    numPartitions: BROKER_DEFAULT,
    replicationFactor: BROKER_DEFAULT,
    assignments: [],
    configs: [],
  }))
  const created = await partial(connection.request(CREATE_TOPICS, requested, CREATE_MS, false))
  return new Map(
    created.topics.map(({ name, errorCode, errorMessage }) => {
      const exists = errorCode === 0 || errorCode === TOPIC_EXISTS
      return [name, exists ? undefined : (errorMessage ?? `error ${nameOf(errorCode)}`)]
    }),
  )
}

const AUTO_CREATE = "auto.create.topics.enable"
