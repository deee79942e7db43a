import type { RequestOf, ResponseOf } from "../../../src/kafka-protocol/fields.ts"
import type { CreateTopics, DescribeConfigs, InitProducerId } from "../../../src/kafka-protocol/messages.ts"
import type { BrokerModel } from "./model.ts"
import { CODE } from "./codes.ts"

/** A controller that knows of them creates topics: with the brokers' defaults, as the producer asks. */
export function createTopics(
  broker: BrokerModel,
  { topics }: RequestOf<typeof CreateTopics>,
  answer: (response: ResponseOf<typeof CreateTopics>) => void,
): void {
  const { cluster } = broker
  const created = topics.map(({ name }) => {
    if (broker.isCutOff) return { name, errorCode: CODE.NOT_CONTROLLER }
    if (cluster.controller.image.topics.has(name)) return { name, errorCode: CODE.TOPIC_ALREADY_EXISTS }
    const { id } = cluster.controller.create(name, cluster.settings.defaultPartitions)
    return { name, topicId: id, errorCode: CODE.NONE }
  })
  answer({ topics: created })
}

export function initProducerId(
  broker: BrokerModel,
  _request: RequestOf<typeof InitProducerId>,
  answer: (response: ResponseOf<typeof InitProducerId>) => void,
): void {
  if (broker.isCutOff) return answer({ errorCode: CODE.COORDINATOR_LOAD_IN_PROGRESS })
  answer({ producerId: broker.cluster.newProducerId(), producerEpoch: 0 })
}

export function describeConfigs(
  broker: BrokerModel,
  { resources }: RequestOf<typeof DescribeConfigs>,
  answer: (response: ResponseOf<typeof DescribeConfigs>) => void,
): void {
  const { autoCreate, maxMessageBytes } = broker.cluster.settings
  const values: { readonly [name: string]: string } = {
    "auto.create.topics.enable": `${autoCreate}`,
    "max.message.bytes": `${maxMessageBytes}`,
  }
  const results = resources.map(({ resourceType, resourceName, configurationKeys }) => ({
    errorCode: CODE.NONE,
    errorMessage: null,
    resourceType,
    resourceName,
    configs: (configurationKeys ?? []).map((name) => ({
      name,
      value: values[name] ?? null,
      documentation: null,
    })),
  }))
  answer({ results })
}
