import type { Api } from "../../../src/kafka-listener/protocol/fields.ts"

/*
 * Messages that the embedded log's listener does not serve: https://kafka.apache.org/41/design/protocol/#protocol_api_keys
 */

export const InitProducerId = {
  key: 22,
  versions: "0-5",
  flexible: "2+",
  request: {
    transactionalId: { in: "0+", is: "string", nullable: "0+" },
    transactionTimeoutMs: { in: "0+", is: "int32" },
    producerId: { in: "3+", is: "int64", default: -1 },
    producerEpoch: { in: "3+", is: "int16", default: -1 },
  },
  response: {
    throttleTimeMs: { in: "0+", is: "int32" },
    errorCode: { in: "0+", is: "int16" },
    producerId: { in: "0+", is: "int64", default: -1 },
    producerEpoch: { in: "0+", is: "int16" },
  },
} as const satisfies Api

export const CreateTopics = {
  key: 19,
  versions: "2-7",
  flexible: "5+",
  request: {
    topics: {
      in: "0+",
      each: {
        name: { in: "0+", is: "string" },
        numPartitions: { in: "0+", is: "int32" },
        replicationFactor: { in: "0+", is: "int16" },
        assignments: {
          in: "0+",
          each: { partitionIndex: { in: "0+", is: "int32" }, brokerIds: { in: "0+", each: "int32" } },
        },
        configs: {
          in: "0+",
          each: { name: { in: "0+", is: "string" }, value: { in: "0+", is: "string", nullable: "0+" } },
        },
      },
    },
    timeoutMs: { in: "0+", is: "int32" },
    validateOnly: { in: "1+", is: "bool" },
  },
  response: {
    throttleTimeMs: { in: "2+", is: "int32" },
    topics: {
      in: "0+",
      each: {
        name: { in: "0+", is: "string" },
        topicId: { in: "7+", is: "uuid" },
        errorCode: { in: "0+", is: "int16" },
        errorMessage: { in: "1+", is: "string", nullable: "0+", default: null },
        numPartitions: { in: "5+", is: "int32", default: -1 },
        replicationFactor: { in: "5+", is: "int16", default: -1 },
        configs: {
          in: "5+",
          each: {
            name: { in: "5+", is: "string" },
            value: { in: "5+", is: "string", nullable: "5+" },
            readOnly: { in: "5+", is: "bool" },
            configSource: { in: "5+", is: "int8", default: -1 },
            isSensitive: { in: "5+", is: "bool" },
          },
          nullable: "5+",
        },
      },
    },
  },
} as const satisfies Api
