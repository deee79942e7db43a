import { LIMITS } from "../limits.ts"
import { ByteReader, Malformed } from "../../kafka-protocol/byte-reader.ts"
import { ByteWriter } from "../../kafka-protocol/byte-writer.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import {
  isIn,
  rangeOf,
  readRequest,
  writeResponse,
  type Api,
  type ResponseOf,
} from "../../kafka-protocol/fields.ts"
import { ApiVersions, SaslAuthenticate, SaslHandshake } from "../../kafka-protocol/messages.ts"
import { describeConfigs, describeLogDirs } from "./configs.ts"
import { NoAnswer, served, type Context, type Served } from "./context.ts"
import { fetch } from "./fetch.ts"
import { deleteGroups, describeGroups, listGroups } from "./group-admin.ts"
import { offsetCommit, offsetDelete, offsetFetch } from "./group-offsets.ts"
import { findCoordinator, heartbeat, joinGroup, leaveGroup, syncGroup } from "./groups.ts"
import { describeCluster, metadata } from "./metadata.ts"
import { listOffsets, offsetForLeaderEpoch } from "./offsets.ts"
import {
  consumerGroupHeartbeat,
  createPartitions,
  createTopics,
  deleteTopics,
  incrementalAlterConfigs,
  initProducerId,
  produce,
} from "./read-only.ts"

/*
 * From a request's frame, without its length, to its response's. What can't be served is answered with an error code:
 *
 *   API unknown                 UNSUPPORTED_VERSION alone
 *   version unknown             UNSUPPORTED_VERSION in the nearest version, of ApiVersions in version 0 (KIP-511)
 *   client is not authenticated ILLEGAL_SASL_STATE
 *   body is not of the version  INVALID_REQUEST
 *   the disk does not read      KAFKA_STORAGE_ERROR, and it is logged; clients try again
 *   a fault                     UNKNOWN_SERVER_ERROR, and it is logged
 */

const apiVersions = served(ApiVersions, () => ({ apiKeys: API_KEYS }))

/** After version 0 the client's messages come as frames of their own, without the protocol's headers. */
const saslHandshake = served(SaslHandshake, ({ mechanism }, { authentication, version }) => ({
  errorCode: authentication.begin(mechanism, version === 0) ? ERROR.NONE : ERROR.UNSUPPORTED_SASL_MECHANISM,
  mechanisms: authentication.mechanisms,
}))

const saslAuthenticate = served(SaslAuthenticate, ({ authBytes }, { authentication }) => {
  const step = authentication.take(authBytes)
  if (step !== "refused") return { authBytes: step.reply }
  return { errorCode: ERROR.SASL_AUTHENTICATION_FAILED, errorMessage: "Authentication failed" }
})

const SERVED: readonly Served[] = [
  produce,
  fetch,
  listOffsets,
  metadata,
  offsetCommit,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeGroups,
  listGroups,
  saslHandshake,
  apiVersions,
  offsetForLeaderEpoch,
  describeConfigs,
  describeLogDirs,
  saslAuthenticate,
  deleteGroups,
  offsetDelete,
  describeCluster,
  initProducerId,
  createTopics,
  deleteTopics,
  createPartitions,
  incrementalAlterConfigs,
  consumerGroupHeartbeat,
]

const BY_KEY = new Map(SERVED.map((one) => [one.api.key, one]))

const BEFORE_AUTHENTICATION = new Set(
  [apiVersions, saslHandshake, saslAuthenticate].map(({ api }) => api.key),
)

const API_KEYS = SERVED.map((one) => {
  const [minVersion, maxVersion] = versionsOf(one)
  return { apiKey: one.api.key, minVersion, maxVersion }
})

function versionsOf({ api, least }: Served): readonly [number, number] {
  const [first, last] = rangeOf(api.versions)
  return [least ?? first, last]
}

/** What serves a request: the listener's state, and what the connection knows. */
export type Serving = Omit<Context, "version" | "clientId"> & { readonly failed: (error: unknown) => void }

/**
 * Serves a request.
 *
 * @returns the response, in parts
 * @throws Malformed where not even the header can be read, TooLarge for an answer over the limit, NoAnswer
 */
export async function answer(frame: Buffer, serving: Serving): Promise<readonly Buffer[]> {
  const from = new ByteReader(frame)
  const key = from.int16()
  const version = from.int16()
  const correlationId = from.int32()
  const one = BY_KEY.get(key)
  if (one === undefined) return unknownApi(correlationId)
  const [least, most] = versionsOf(one)
  if (version < least || version > most) {
    const nearest = one.api.key === ApiVersions.key ? 0 : Math.min(Math.max(version, least), most)
    return respond(one.api, nearest, correlationId, failure(one.api, ERROR.UNSUPPORTED_VERSION))
  }
  const { authentication } = serving
  if (authentication.state !== "done" && !BEFORE_AUTHENTICATION.has(key))
    return respond(one.api, version, correlationId, failure(one.api, ERROR.ILLEGAL_SASL_STATE))
  let response
  try {
    const clientId = from.take(Math.max(0, from.int16())).toString()
    if (isIn(one.api.flexible, version)) from.skipTags()
    const request = readRequest(one.api, version, from)
    while (serving.log.whenOpen() !== undefined) await serving.log.whenOpen()
    response = await one.serve(request as never, { ...serving, version, clientId })
  } catch (error) {
    if (error instanceof NoAnswer) throw error
    response = failure(one.api, codeOf(error, serving))
  }
  return respond(one.api, version, correlationId, response)
}

function codeOf(error: unknown, { log, failed }: Serving): number {
  if (error instanceof Malformed) return ERROR.INVALID_REQUEST
  const code = log.codeOf(error)
  if (code === undefined) failed(error)
  return code ?? ERROR.UNKNOWN_SERVER_ERROR
}

function respond(api: Api, version: number, correlationId: number, response: object): readonly Buffer[] {
  const to = new ByteWriter(512, LIMITS.answerBytes)
  to.int32(0)
  to.int32(correlationId)
  // clients read the header of ApiVersions before they know the broker's versions (KIP-511)
  if (isIn(api.flexible, version) && api.key !== ApiVersions.key) to.varint(0)
  writeResponse(api, version, response, to)
  to.beginWith(to.length - 4)
  return to.parts()
}

/** The code where the response has one for all of the request. */
function failure(api: Api, errorCode: number): ResponseOf<Api> {
  return api.key === ApiVersions.key ? { errorCode, apiKeys: API_KEYS } : { errorCode }
}

function unknownApi(correlationId: number): readonly Buffer[] {
  const to = new ByteWriter(16)
  to.int32(6)
  to.int32(correlationId)
  to.int16(ERROR.UNSUPPORTED_VERSION)
  return to.parts()
}
