import { ERROR } from "../../kafka-protocol/error-codes.ts"
import {
  ConsumerGroupHeartbeat,
  CreatePartitions,
  CreateTopics,
  DeleteTopics,
  IncrementalAlterConfigs,
  InitProducerId,
  Produce,
} from "../../kafka-protocol/messages.ts"
import { NoAnswer, served } from "./context.ts"

/*
 * What is refused, since pipelines alone publish to the log. It is offered all the same: clients report the error of an
 * answer, with its sentence, and not one of their own about a broker that does not know the request. They also infer from the
 * versions what a broker is able to: old ones of librdkafka that it knows their compression, from version 0 of Produce.
 */

const ONLY_PIPELINES = "the embedded log of Hookline is written by its pipelines only"
const TOPICS =
  "topics of the embedded log are created and configured by Hookline's configuration, not by clients"

export const produce = served(
  Produce,
  ({ acks, topicData }) => {
    // a producer that wants no answer would take one for that to a later request
    if (acks === 0) throw new NoAnswer(`it produces with acks=0, and ${ONLY_PIPELINES}`)
    return {
      responses: topicData.map(({ name, topicId, partitionData }) => ({
        name,
        topicId,
        partitionResponses: partitionData.map(({ index }) => ({
          index,
          errorCode: ERROR.TOPIC_AUTHORIZATION_FAILED,
          baseOffset: -1,
          errorMessage: ONLY_PIPELINES,
        })),
      })),
    }
  },
  0,
)

/** For idempotent producers; those of transactions are refused by FindCoordinator already. */
export const initProducerId = served(InitProducerId, () => ({
  errorCode: ERROR.CLUSTER_AUTHORIZATION_FAILED,
  producerId: -1,
  producerEpoch: -1,
}))

const refusedTopic = { errorCode: ERROR.POLICY_VIOLATION, errorMessage: TOPICS } as const

export const createTopics = served(CreateTopics, ({ topics }) => ({
  topics: topics.map(({ name }) => ({ name, ...refusedTopic })),
}))

export const deleteTopics = served(DeleteTopics, ({ topics, topicNames }, { version }) => {
  const asked = version >= 6 ? topics : topicNames.map((name) => ({ name, topicId: undefined }))
  return { responses: asked.map(({ name, topicId }) => ({ name, topicId, ...refusedTopic })) }
})

export const createPartitions = served(CreatePartitions, ({ topics }) => ({
  results: topics.map(({ name }) => ({
    name,
    errorCode: ERROR.POLICY_VIOLATION,
    errorMessage: `${TOPICS}: raise partitions of the connection`,
  })),
}))

export const incrementalAlterConfigs = served(IncrementalAlterConfigs, ({ resources }) => ({
  responses: resources.map((resource) => ({
    resourceType: resource.resourceType,
    resourceName: resource.resourceName,
    ...refusedTopic,
  })),
}))

/** As a Kafka answers whose group.coordinator.rebalance.protocols has classic alone. */
export const consumerGroupHeartbeat = served(ConsumerGroupHeartbeat, () => ({
  errorCode: ERROR.UNSUPPORTED_VERSION,
  errorMessage: "the embedded log of Hookline has classic consumer groups only; set group.protocol=classic",
}))
