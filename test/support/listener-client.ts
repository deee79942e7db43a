import { expect } from "bun:test"
import type { ServedBroker } from "../../src/kafka-listener/apis/context.ts"
import {
  ClientConnection,
  type ConnectionDependencies,
  type Socket,
} from "../../src/kafka-listener/connection.ts"
import { LIMITS, SharedBytes } from "../../src/kafka-listener/limits.ts"
import { ByteReader } from "../../src/kafka-protocol/byte-reader.ts"
import { ByteWriter } from "../../src/kafka-protocol/byte-writer.ts"
import { isIn, type Api } from "../../src/kafka-protocol/fields.ts"
import { ApiVersions } from "../../src/kafka-protocol/messages.ts"
import { ClientAuthentication } from "../../src/kafka-listener/security/authentication.ts"
import { readResponse, writeRequest } from "./kafka-messages.ts"

/** A request's frame, without its length. */
export function requestOf(api: Api, version: number, request: object, correlationId = 1): Buffer {
  const frame = new ByteWriter()
  frame.int16(api.key)
  frame.int16(version)
  frame.int32(correlationId)
  frame.int16(-1)
  if (isIn(api.flexible, version)) frame.varint(0)
  writeRequest(api, version, request as { [name: string]: unknown }, frame)
  return Buffer.from(frame.written())
}

/** What a response says. @param parts with its length */
export function responseIn(api: Api, version: number, parts: readonly Uint8Array[]) {
  const isFlexible = isIn(api.flexible, version) && api.key !== ApiVersions.key
  return readResponse(api, version, new ByteReader(Buffer.concat(parts).subarray(isFlexible ? 9 : 8)))
}

/** A client's connection to a listener without users and limits of its own. */
export const connectionOf = (socket: Socket, deps: Partial<ConnectionDependencies> = {}): ClientConnection =>
  new ClientConnection(socket, {
    broker: { log: { whenOpen: () => undefined } } as unknown as ServedBroker,
    advertised: () => ({ host: "127.0.0.1", port: 9092 }),
    clientAddress: "127.0.0.1",
    guesses: { count() {}, wait: () => 0, delay: async () => true, close() {} },
    authentication: new ClientAuthentication(undefined, false),
    receiving: new SharedBytes(LIMITS.receivingBytes),
    unsent: new SharedBytes(LIMITS.unsentBytes),
    failed: (error) => expect(error).toBeUndefined(),
    refused: (reason) => expect(reason).toBeUndefined(),
    ...deps,
  })
