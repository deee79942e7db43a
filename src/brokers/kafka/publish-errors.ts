import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { PublishError } from "../../errors.ts"
import { errorNameOf } from "./error-actions.ts"

/*
 * Why a record is not published. The code of the error decides the sender's answer: `record_too_large` is 413 or a dead
 * letter, `refused` is final, the others are 503 with a Retry-After.
 */

export const closing = (): PublishError => new PublishError("closing", "the connection is closing")

/** @param why what keeps Kafka from acknowledging records, if that is known */
export const deadlinePassed = (why?: string): PublishError =>
  new PublishError(
    "deadline",
    `the deadline passed before Kafka acknowledged the record${why === undefined ? "" : `: ${why}`}`,
  )

export const cancelled = (): PublishError =>
  new PublishError("unavailable", "cancelled before Kafka acknowledged it")

/** Its batch was sent and may be in the log; it is not sent again. */
export const outcomeUnknown = (): PublishError =>
  new PublishError("unavailable", "no acknowledgement from Kafka; the record may be in the log")

/** @param notCreated why the topic was not created, where that was tried */
export function topicMissing(topic: string, existed: boolean, notCreated: string | undefined): PublishError {
  const why = notCreated === undefined ? "" : ` (${notCreated})`
  const what = existed ? "was deleted; create it again" : `does not exist${why}; create it`
  return new PublishError("unavailable", `topic ${topic} ${what}`)
}

/** The topic accepts no record of this client. */
export function topicRefused(topic: string, errorCode: number): PublishError {
  const why = TOPIC_REFUSALS[errorCode] ?? `Kafka rejects it with error ${errorNameOf(errorCode)}`
  return new PublishError("refused", `topic ${topic}: ${why}`)
}

const TOPIC_REFUSALS: { readonly [errorCode: number]: string } = {
  [ERROR.INVALID_TOPIC_EXCEPTION]: "invalid topic name",
  [ERROR.TOPIC_AUTHORIZATION_FAILED]: "this client is not authorized to write to it",
  [ERROR.CLUSTER_AUTHORIZATION_FAILED]: "this client is not authorized for idempotent writes",
}

/** @param limit Infinity: not known. Without the record's size: `spool status` counts records by this text */
export const recordTooLarge = (topic: string, limit: number): PublishError =>
  new PublishError(
    "record_too_large",
    `the record exceeds max.message.bytes of topic ${topic}${Number.isFinite(limit) ? `, ${limit}` : ""}`,
  )

/** A batch of this record alone was rejected. @param limit as of `recordTooLarge` */
export function recordRefused(topic: string, errorCode: number, limit: number): PublishError {
  if (errorCode === ERROR.MESSAGE_TOO_LARGE || errorCode === ERROR.RECORD_LIST_TOO_LARGE)
    return recordTooLarge(topic, limit)
  const clock = errorCode === ERROR.INVALID_TIMESTAMP ? "; check this machine's clock" : ""
  return new PublishError(
    "refused",
    `topic ${topic}: Kafka rejects the record with error ${errorNameOf(errorCode)}${clock}`,
  )
}

/** Errors that say nothing about the batch were all that the broker answered. */
export const batchRefused = (topic: string, errorCode: number): PublishError =>
  new PublishError("refused", `topic ${topic}: Kafka keeps answering with error ${errorNameOf(errorCode)}`)

/** @param isTooLarge whether the broker accepts smaller requests */
export function connectionClosed(topic: string, bytes: number, isTooLarge: boolean): PublishError {
  const reason = `Kafka keeps closing the connection on a request of ${bytes} bytes`
  return new PublishError(isTooLarge ? "record_too_large" : "refused", `topic ${topic}: ${reason}`)
}

/** Final, since another attempt could meet the same error of this program. The record may be in the log. */
export const internal = (topic: string, cause: unknown): PublishError =>
  new PublishError("refused", `topic ${topic}: internal error in the Kafka producer`, { cause })

/** The batch was acknowledged at the offset of an earlier one. */
export const offsetBehind = (topic: string): PublishError =>
  new PublishError("unavailable", `topic ${topic}: Kafka acknowledged another batch`)
