import type { RequestOf, ResponseOf } from "../../../src/kafka-protocol/fields.ts"
import type { Metadata } from "../../../src/kafka-protocol/messages.ts"
import type { BrokerModel } from "./model.ts"
import { CODE } from "./codes.ts"

/** Answers with what the broker has learnt, which may be old. */
export function metadata(
  broker: BrokerModel,
  request: RequestOf<typeof Metadata>,
  answer: (response: ResponseOf<typeof Metadata>) => void,
): void {
  const { image, cluster } = broker
  const topics = (request.topics ?? []).map(({ name }) => {
    const topic = image.topics.get(name!)
    const faulty = cluster.faultyMetadata?.()
    if (faulty !== undefined) return { errorCode: faulty, name, partitions: [] }
    if (topic === undefined) return { errorCode: CODE.UNKNOWN_TOPIC_OR_PARTITION, name, partitions: [] }
    const partitions = topic.partitions.map(({ leader, leaderEpoch, replicas, isr }, partitionIndex) => ({
      errorCode: leader < 0 ? CODE.LEADER_NOT_AVAILABLE : CODE.NONE,
      partitionIndex,
      leaderId: leader,
      leaderEpoch,
      replicaNodes: replicas,
      isrNodes: isr,
    }))
    return { errorCode: CODE.NONE, name, topicId: topic.id, partitions }
  })
  const brokers = [...image.brokers].map((nodeId) => {
    const { host, port } = cluster.brokers.get(nodeId)!
    return { nodeId, host, port }
  })
  answer({ brokers, clusterId: "simulated", controllerId: [...image.brokers][0] ?? -1, topics })
}
