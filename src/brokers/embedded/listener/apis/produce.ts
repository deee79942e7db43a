import { ERROR } from "../protocol/error-codes.ts"
import { Produce } from "../protocol/messages.ts"
import { served } from "./context.ts"

/**
 * Only pipelines publish to the log. It is offered all the same: clients take from its versions what a broker is able to,
 * old ones of librdkafka that it knows their compression, from version 0.
 */
export const produce = served(
  Produce,
  ({ topicData }) => ({
    responses: topicData.map(({ name, topicId, partitionData }) => ({
      name,
      topicId,
      partitionResponses: partitionData.map(({ index }) => ({
        index,
        errorCode: ERROR.TOPIC_AUTHORIZATION_FAILED,
        baseOffset: -1,
        errorMessage: "the embedded log of Hookline is published to by its pipelines only",
      })),
    })),
  }),
  0,
)
