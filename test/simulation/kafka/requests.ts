import { ByteReader } from "../../../src/kafka-protocol/byte-reader.ts"
import { ByteWriter } from "../../../src/kafka-protocol/byte-writer.ts"
import {
  type Api,
  isIn,
  readRequest,
  type RequestOf,
  type ResponseOf,
  writeResponse,
} from "../../../src/kafka-protocol/fields.ts"
import {
  ApiVersions,
  CreateTopics,
  DescribeConfigs,
  InitProducerId,
  Metadata,
  Produce,
} from "../../../src/kafka-protocol/messages.ts"
import { Frames } from "../../../src/kafka-listener/frames.ts"
import type { World } from "../world.ts"
import { createTopics, describeConfigs, initProducerId } from "./administration.ts"
import type { BrokerModel } from "./model.ts"
import { CODE } from "./codes.ts"
import { metadata } from "./metadata.ts"
import type { ServerSide } from "./network.ts"
import { produce } from "./produce.ts"

interface Handled<A extends Api> {
  readonly api: A
  readonly handle: (
    broker: BrokerModel,
    request: RequestOf<A>,
    answer: (response: ResponseOf<A>) => void,
    version: number,
  ) => void
}

const handled = <A extends Api>(api: A, handle: Handled<A>["handle"]): Handled<Api> =>
  ({ api, handle }) as unknown as Handled<Api>

const APIS = new Map(
  [
    handled(Produce, produce),
    handled(Metadata, metadata),
    handled(ApiVersions, ({ cluster }, _request, answer) =>
      answer({ apiKeys: versionsOf(cluster.settings.release) }),
    ),
    handled(CreateTopics, createTopics),
    handled(InitProducerId, initProducerId),
    handled(DescribeConfigs, describeConfigs),
  ].map((one) => [one.api.key, one]),
)

/** Serves one request of a connection at a time, as a broker does, which reads the next one when it has answered. */
export function serve(broker: BrokerModel, connection: ServerSide, world: World): void {
  const frames = new Frames(broker.cluster.settings.maxRequestBytes)
  let isBusy = false
  let isClosed = false
  const next = (): void => {
    if (isBusy || isClosed) return
    const frame = frames.next()
    if (frame === undefined) return
    if (frame === "too_large") {
      world.tell(broker.host, `request too large, connection ${connection.number} closed`)
      return connection.close()
    }
    isBusy = true
    const isProduce = frame.readInt16BE(0) === Produce.key
    const late = isProduce ? broker.late : undefined
    const resume = (): void => {
      isBusy = false
      next()
    }
    const send = (response: Buffer): void => {
      if (isProduce && broker.unanswered > 0) {
        broker.unanswered--
        world.tell(
          broker.host,
          `connection ${connection.number} breaks before the answer to a produce request`,
        )
        connection.close(true)
      }
      if (!isClosed) connection.send(response)
    }
    answer(broker, Buffer.from(frame), (response) => {
      if (late?.overlap === true) {
        broker.process?.run(() => send(response), late.ms)
        return void broker.process?.run(resume)
      }
      const end = (): void => {
        send(response)
        // a throttled client is told to wait, and not read from meanwhile
        broker.process?.run(resume, broker.throttleMs)
      }
      if (late === undefined) end()
      else broker.process?.run(end, late.ms + frame.length / (late.bytesPerMs ?? Number.POSITIVE_INFINITY))
    })
  }
  connection.onData = (bytes) => {
    frames.add(bytes)
    next()
  }
  connection.onClosed = () => {
    isClosed = true
  }
}

function answer(broker: BrokerModel, frame: Buffer, send: (response: Buffer) => void): void {
  const from = new ByteReader(frame)
  const key = from.int16()
  const version = from.int16()
  const correlationId = from.int32()
  const { api, handle } = APIS.get(key)!
  const range = broker.cluster.settings.release.versions[key]!
  const reply = (response: ResponseOf<Api>, inVersion: number): void => {
    const to = new ByteWriter()
    to.int32(0)
    to.int32(correlationId)
    if (isIn(api.flexible, inVersion) && api !== ApiVersions) to.varint(0)
    writeResponse(api, inVersion, { ...response, throttleTimeMs: broker.throttleMs }, to)
    to.beginWith(to.length - 4)
    send(to.written())
  }
  if (version > range[1]) {
    // a version of ApiVersions that it does not know is answered in the first one
    const apiKeys = versionsOf(broker.cluster.settings.release)
    return reply({ errorCode: CODE.UNSUPPORTED_VERSION, apiKeys } as ResponseOf<Api>, 0)
  }
  from.take(Math.max(0, from.int16()))
  if (isIn(api.flexible, version)) from.skipTags()
  handle(broker, readRequest(api, version, from), (response) => reply(response, version), version)
}

const versionsOf = ({ versions }: BrokerModel["cluster"]["settings"]["release"]) =>
  Object.entries(versions).map(([apiKey, [minVersion, maxVersion]]) => ({
    apiKey: Number(apiKey),
    minVersion,
    maxVersion,
  }))
