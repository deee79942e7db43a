import type { LogView } from "../log-view.ts"
import type { ClientTopic } from "../topics.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { RequestOf, ResponseOf } from "../../kafka-protocol/fields.ts"
import { DescribeCluster, Metadata } from "../../kafka-protocol/messages.ts"
import { NODE_ID, served } from "./context.ts"

const NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"

type Asked = NonNullable<RequestOf<typeof Metadata>["topics"]>[number]
type Described = NonNullable<ResponseOf<typeof Metadata>["topics"]>[number]

export const metadata = served(Metadata, ({ topics: asked }, { version, log, advertised }) => {
  // before version 1 none meant all
  const isAll = asked === null || (version === 0 && asked.length === 0)
  return {
    brokers: [{ nodeId: NODE_ID, ...advertised }],
    clusterId: log.source.clusterId,
    controllerId: NODE_ID,
    topics: isAll ? log.topics().map((topic) => describe(topic, log)) : asked.map((one) => find(one, log)),
  }
})

export const describeCluster = served(DescribeCluster, (_, { log, advertised }) => ({
  clusterId: log.source.clusterId,
  controllerId: NODE_ID,
  brokers: [{ brokerId: NODE_ID, ...advertised }],
}))

function find({ name, topicId }: Asked, log: LogView): Described {
  const topic = topicId === NO_ID ? log.topic(name ?? "") : log.topicById(topicId)
  if (topic !== undefined) return describe(topic, log)
  const errorCode = topicId === NO_ID ? ERROR.UNKNOWN_TOPIC_OR_PARTITION : ERROR.UNKNOWN_TOPIC_ID
  return { errorCode, name, topicId }
}

const describe = (topic: ClientTopic, log: LogView): Described => ({
  name: topic.name,
  topicId: topic.uuid,
  partitions: log.partitions(topic).map((partitionIndex) => ({
    partitionIndex,
    leaderId: NODE_ID,
    leaderEpoch: log.source.epoch,
    replicaNodes: [NODE_ID],
    isrNodes: [NODE_ID],
  })),
})
