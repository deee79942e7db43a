import type { RetentionLimits } from "../log.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { ResponseOf } from "../../kafka-protocol/fields.ts"
import { DescribeConfigs, DescribeLogDirs } from "../../kafka-protocol/messages.ts"
import { NODE_ID, served } from "./context.ts"

/** org.apache.kafka.common.config.ConfigResource.Type */
const TOPIC = 2
const BROKER = 4
/** DescribeConfigsResponse.ConfigSource: set for this topic, or Kafka's default. */
const OF_TOPIC = 1
const DEFAULT = 5
/** DescribeConfigsResponse.ConfigType */
const STRING = 2
const LONG = 5
const LIST = 7

type Result = NonNullable<ResponseOf<typeof DescribeConfigs>["results"]>[number]
type Config = NonNullable<Result["configs"]>[number]

/** What a topic of Kafka is called that keeps what the log keeps. Nothing can be changed here. */
export const describeConfigs = served(DescribeConfigs, ({ resources }, { log, retention }) => ({
  results: resources.map(({ resourceType, resourceName, configurationKeys }): Result => {
    const resource = { resourceType, resourceName }
    const isKnown =
      resourceType === TOPIC
        ? log.topic(resourceName) !== undefined
        : resourceType === BROKER && resourceName === `${NODE_ID}`
    if (!isKnown && resourceType === TOPIC)
      return { ...resource, errorCode: ERROR.UNKNOWN_TOPIC_OR_PARTITION, errorMessage: "no such topic" }
    if (!isKnown) {
      const errorMessage = `only topics and broker ${NODE_ID} have configurations`
      return { ...resource, errorCode: ERROR.INVALID_REQUEST, errorMessage }
    }
    const configs = resourceType === TOPIC ? topicConfigs(retention) : []
    const isAsked = ({ name }: Config): boolean => configurationKeys?.includes(name!) ?? true
    return { ...resource, configs: configs.filter(isAsked) }
  }),
}))

const topicConfigs = ({ ms, bytes }: RetentionLimits): Config[] => [
  config("cleanup.policy", LIST, "delete", DEFAULT),
  config("compression.type", STRING, "uncompressed", OF_TOPIC),
  config("message.timestamp.type", STRING, "CreateTime", DEFAULT),
  // the limit applies to all topics together
  config("retention.bytes", LONG, limit(bytes), Number.isFinite(bytes) ? OF_TOPIC : DEFAULT),
  config("retention.ms", LONG, limit(ms), OF_TOPIC),
]

const limit = (value: number): string => (Number.isFinite(value) ? `${value}` : "-1")

const config = (name: string, configType: number, value: string, configSource: number): Config => ({
  name,
  value,
  readOnly: true,
  configSource,
  configType,
  documentation: null,
})

export const describeLogDirs = served(DescribeLogDirs, ({ topics: asked }, { log }) => {
  const isAsked = (name: string, partition: number): boolean =>
    asked?.some(({ topic, partitions }) => topic === name && partitions.includes(partition)) ?? true
  const results = [
    {
      logDir: log.source.directory,
      topics: log.topics().flatMap((topic) => {
        const { name } = topic
        const partitions = log
          .partitions(topic)
          .filter((partition) => isAsked(name, partition))
          .map((partition) => ({
            partitionIndex: partition,
            partitionSize: log.source.bytes({ topic, partition }),
          }))
        return partitions.length === 0 ? [] : [{ name, partitions }]
      }),
    },
  ]
  return { results }
})
