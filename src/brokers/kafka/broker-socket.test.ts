import { afterEach, expect, test } from "bun:test"
import { Writer } from "./client-library.ts"
import { HANG_MS } from "../../../test/support/hang.ts"
import { BrokerSocket } from "./broker-socket.ts"

const API = { key: 0, version: 11, answerHasTags: true }
const CLIENT_ID = "hookline"
const HEAD_BYTES = 14 + CLIENT_ID.length

type Served = Bun.Socket<undefined>
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** A server that does something with what it receives, and a socket that is connected to it. */
async function connect(data: (socket: Served, bytes: Buffer) => void, requestTimeoutMs = HANG_MS) {
  const accepted = Promise.withResolvers<Served>()
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { open: (socket: Served) => accepted.resolve(socket), data },
  })
  stops.push(() => server.stop(true))
  const endpoint = { host: "127.0.0.1", port: server.port }
  const socket = await BrokerSocket.connect(endpoint, {
    clientId: CLIENT_ID,
    connectTimeoutMs: HANG_MS,
    requestTimeoutMs,
  })
  stops.push(() => socket.close())
  return { socket, served: await accepted.promise }
}

/** Sends a request with a body; resolves with the body of the answer. */
function ask(socket: BrokerSocket, body: string | Buffer, more: readonly Buffer[] = []): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const first = Buffer.concat([Buffer.alloc(socket.headBytes), Buffer.from(body)])
  const settle = (error: Error | null, answer?: string): void => (error ? reject(error) : resolve(answer!))
  socket.request(API, [first, ...more], (answer) => answer.toString(), settle)
  return promise
}

function answer(id: number, body: string | Buffer): Buffer {
  return Writer.create().appendInt32(id).appendInt8(0).append(Buffer.from(body)).prependLength().buffer
}

test("a request has the protocol's header, and answers go to the requests of their correlation ids", async () => {
  const received: Buffer[] = []
  const arrived = Promise.withResolvers<void>()
  const { socket, served } = await connect((_, bytes) => {
    received.push(Buffer.from(bytes))
    if (Buffer.concat(received).length === 2 * (HEAD_BYTES + 3)) arrived.resolve()
  })
  expect(socket.headBytes).toBe(HEAD_BYTES)
  const answers = [ask(socket, "one"), ask(socket, "two")]
  await arrived.promise
  const header = Writer.create().appendInt16(0).appendInt16(11).appendInt32(1).appendString(CLIENT_ID, false)
  const first = header.append(Buffer.from("one")).prependLength().buffer
  expect(Buffer.concat(received).subarray(0, first.length).toString("hex")).toBe(first.toString("hex"))
  served.write(Buffer.concat([answer(2, "second"), answer(1, "first")]))
  expect(await Promise.all(answers)).toEqual(["first", "second"])
})

test("an answer may come in any pieces", async () => {
  const { socket, served } = await connect(() => {})
  const large = "x".repeat(300_000)
  const answers = [ask(socket, ""), ask(socket, ""), ask(socket, "")]
  const bytes = Buffer.concat([answer(1, "first"), answer(2, large), answer(3, "")])
  for (let at = 0; at < 40; at++) {
    served.write(bytes.subarray(at, at + 1))
    await new Promise(setImmediate)
  }
  for (let at = 40; at < bytes.length;) {
    at += served.write(bytes.subarray(at, at + 70_001))
    await new Promise(setImmediate)
  }
  expect(await Promise.all(answers)).toEqual(["first", large, ""])
})

test("a request without an answer fails after its time, and all others with it", async () => {
  const { socket } = await connect(() => {}, 50)
  const asked = await Promise.allSettled([ask(socket, "one"), ask(socket, "two")])
  for (const { status, reason } of asked as PromiseRejectedResult[])
    expect([status, reason.message]).toEqual(["rejected", "Request timed out"])
  expect(socket.isOpen).toBe(false)
  await expect(ask(socket, "three")).rejects.toThrow("Connection closed")
})

test("a request fails when the other side closes, and when an answer can't be read; later ones go on", async () => {
  const { socket, served } = await connect(() => {})
  const { promise, resolve } = Promise.withResolvers<Error | null>()
  const fail = (): never => {
    throw new RangeError("too short")
  }
  socket.request(API, [Buffer.alloc(socket.headBytes)], fail, resolve)
  served.write(answer(1, ""))
  expect((await promise)?.message).toBe("too short")
  const asked = ask(socket, "")
  served.end()
  await expect(asked).rejects.toThrow("Connection closed")
})

const WRONG: readonly [what: string, bytes: Buffer, says: string][] = [
  ["a negative length", Buffer.from([255, 255, 255, 255, 0, 0, 0, 1]), "not Kafka's protocol"],
  [
    "a length beyond what brokers send",
    Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"),
    "not Kafka's protocol",
  ],
  ["the id of no request", answer(9, ""), "unexpected answer, of correlation id 9"],
  ["a record of TLS", Buffer.from([21, 3, 3, 0, 2, 2, 40]), "Broker requires TLS"],
]

test.each(WRONG)("an answer with %s ends the socket", async (_, bytes, says) => {
  const { socket, served } = await connect(() => {})
  const asked = ask(socket, "")
  served.write(bytes)
  await expect(asked).rejects.toThrow(says)
  expect(socket.isOpen).toBe(false)
})

test("what can't be connected to is said with the system's code", async () => {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
  const { port } = server
  server.stop(true)
  const options = { clientId: CLIENT_ID, connectTimeoutMs: HANG_MS, requestTimeoutMs: 1000 }
  await expect(BrokerSocket.connect({ host: "127.0.0.1", port }, options)).rejects.toMatchObject({
    code: "ECONNREFUSED",
  })
})
