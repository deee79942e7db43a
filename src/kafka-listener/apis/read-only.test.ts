import { expect, test } from "bun:test"
import { connectionOf, requestOf, responseIn } from "../../../test/support/listener-client.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { rangeOf, type Api } from "../../kafka-protocol/fields.ts"
import {
  ApiVersions,
  ConsumerGroupHeartbeat,
  CreatePartitions,
  CreateTopics,
  DeleteTopics,
  FindCoordinator,
  IncrementalAlterConfigs,
  InitProducerId,
  Produce,
} from "../../kafka-protocol/messages.ts"

/** A client's connection, with what it was sent and why it was closed. */
function connect() {
  const sent: Uint8Array[] = []
  const refused: string[] = []
  const socket = {
    write: (bytes: Uint8Array) => sent.push(Buffer.from(bytes)) && bytes.length,
    pause() {},
    resume() {},
    terminate() {},
  }
  const connection = connectionOf(socket, { refused: (reason) => refused.push(reason) })
  return { connection, sent, refused }
}

function frameOf(api: Api, version: number, request: object): Buffer {
  const frame = requestOf(api, version, request)
  const length = Buffer.alloc(4)
  length.writeInt32BE(frame.length)
  return Buffer.concat([length, frame])
}

async function ask(api: Api, version: number, request: object) {
  const { connection, sent } = connect()
  connection.received(frameOf(api, version, request))
  while (sent.length === 0) await new Promise(setImmediate)
  return responseIn(api, version, sent)
}

const topic = { name: "orders", numPartitions: 1, replicationFactor: 1, count: 3 }
const refusal = {
  errorCode: ERROR.POLICY_VIOLATION,
  errorMessage: expect.stringContaining("Hookline's configuration"),
}
const hasMessage = (api: Api, version: number): boolean => api !== DeleteTopics || version >= 5

const REFUSED: readonly (readonly [string, Api, object, (api: Api, version: number) => object])[] = [
  [
    "a topic's creation",
    CreateTopics,
    { topics: [topic] },
    () => ({ topics: [{ name: "orders", ...refusal }] }),
  ],
  [
    "a topic's deletion",
    DeleteTopics,
    { topics: [topic], topicNames: ["orders"] },
    (api, version) => ({
      responses: [
        { name: "orders", ...refusal, ...(hasMessage(api, version) ? {} : { errorMessage: null }) },
      ],
    }),
  ],
  [
    "more partitions",
    CreatePartitions,
    { topics: [topic] },
    () => ({ results: [{ name: "orders", ...refusal }] }),
  ],
  [
    "a change of a topic's configuration",
    IncrementalAlterConfigs,
    { resources: [{ resourceType: 2, resourceName: "orders", configs: [] }] },
    () => ({ responses: [{ resourceName: "orders", ...refusal }] }),
  ],
  [
    "an idempotent producer",
    InitProducerId,
    { transactionalId: null, transactionTimeoutMs: 1000 },
    () => ({ errorCode: ERROR.CLUSTER_AUTHORIZATION_FAILED, producerId: -1 }),
  ],
  [
    "a member of the consumer protocol (KIP-848)",
    ConsumerGroupHeartbeat,
    { groupId: "g", memberId: "m", memberEpoch: 0 },
    () => ({
      errorCode: ERROR.UNSUPPORTED_VERSION,
      errorMessage: expect.stringContaining("group.protocol=classic"),
      assignment: null,
    }),
  ],
]

for (const [what, api, request, expected] of REFUSED)
  test(`${what} is refused with an error of its own, in each version that is advertised`, async () => {
    const { apiKeys } = (await ask(ApiVersions, 3, {})) as {
      apiKeys: { apiKey: number; maxVersion: number }[]
    }
    const [least, most] = rangeOf(api.versions)
    expect(apiKeys).toContainEqual(expect.objectContaining({ apiKey: api.key, maxVersion: most }))
    for (let version = least; version <= most; version++)
      expect(await ask(api, version, request)).toMatchObject(expected(api, version))
  })

test("a transactional producer is refused where it asks for its coordinator, instead of trying forever", async () => {
  const found = await ask(FindCoordinator, 4, { keyType: 1, coordinatorKeys: ["t"] })
  expect(found["coordinators"]).toEqual([
    expect.objectContaining({ errorCode: ERROR.TRANSACTIONAL_ID_AUTHORIZATION_FAILED }),
  ])
})

test("a producer with acks=0 is sent nothing and disconnected, one that awaits an answer gets it", async () => {
  const topicData = [{ name: "orders", partitionData: [{ index: 0, records: null }] }]
  const { connection, sent, refused } = connect()
  connection.received(frameOf(Produce, 9, { transactionalId: null, acks: 0, timeoutMs: 1000, topicData }))
  while (refused.length === 0) await new Promise(setImmediate)
  expect(sent).toEqual([])
  expect(refused[0]).toStartWith("it produces with acks=0")
  const answered = await ask(Produce, 9, { transactionalId: null, acks: 1, timeoutMs: 1000, topicData })
  expect(answered["responses"]).toEqual([
    expect.objectContaining({
      partitionResponses: [expect.objectContaining({ errorCode: ERROR.TOPIC_AUTHORIZATION_FAILED })],
    }),
  ])
})
