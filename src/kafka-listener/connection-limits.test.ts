import { beforeEach, expect, test } from "bun:test"
import { connectionOf } from "../../test/support/listener-client.ts"
import { steadyMs } from "../clock/clock.ts"
import type { ClientConnection, Socket } from "./connection.ts"
import { LIMITS, SharedBytes } from "./limits.ts"

/** ApiVersions, version 0. */
const REQUEST = Buffer.from("0000000a00120000000000 07ffff".replaceAll(" ", ""), "hex")

/** A client that reads that many bytes of what it is sent. */
interface Client extends Socket {
  takes: number
  bytes: number
  isPaused: boolean
  isClosed: boolean
}

let refused: string[]
let unsent: SharedBytes
let receiving: SharedBytes
beforeEach(() => {
  refused = []
  unsent = new SharedBytes(LIMITS.unsentBytes)
  receiving = new SharedBytes(LIMITS.receivingBytes)
})

function connect(takes = Number.POSITIVE_INFINITY): { client: Client; connection: ClientConnection } {
  const client: Client = {
    takes,
    bytes: 0,
    isPaused: false,
    isClosed: false,
    write({ length }) {
      const taken = Math.min(length, client.takes)
      client.takes -= taken
      client.bytes += taken
      return taken
    },
    pause: () => void (client.isPaused = true),
    resume: () => void (client.isPaused = false),
    terminate: () => void (client.isClosed = true),
  }
  const connection = connectionOf(client, {
    receiving,
    unsent,
    refused: (reason) => refused.push(reason),
  })
  return { client, connection }
}

const idle = (ms: number): number => steadyMs() + ms
/** Waits until all that was received and can be served has been served. */
const served = (): Promise<void> => Bun.sleep(0)

test("a client that takes nothing of its answer is disconnected", async () => {
  const { client, connection } = connect(10)
  const beforeMs = steadyMs()
  connection.received(REQUEST)
  await served()
  expect(client.bytes).toBe(10)
  connection.check(beforeMs + LIMITS.stalledMs)
  expect(client.isClosed).toBe(false)
  connection.check(idle(LIMITS.stalledMs + 1))
  expect({ ...client }).toMatchObject({ isClosed: true })
  expect(refused).toEqual(["it does not take its answer"])
})

test("a client that takes a little of its answer now and then stays", async () => {
  const { client, connection } = connect(0)
  connection.received(REQUEST)
  await served()
  const beforeMs = steadyMs()
  await Bun.sleep(50)
  client.takes = 1
  connection.drained()
  connection.check(beforeMs + LIMITS.stalledMs + 10)
  expect(client.isClosed).toBe(false)
})

test("a client that asks for nothing is disconnected, which the log does not say", async () => {
  const { client, connection } = connect()
  const beforeMs = steadyMs()
  connection.received(REQUEST)
  await served()
  connection.check(beforeMs + LIMITS.idleMs)
  expect(client.isClosed).toBe(false)
  connection.check(idle(LIMITS.idleMs + 1))
  expect(client.isClosed).toBe(true)
  expect(refused).toEqual([])
})

test("answers wait while clients have not taken too many bytes of others", async () => {
  const { client, connection } = connect()
  unsent.add(LIMITS.unsentBytes)
  connection.received(REQUEST)
  await served()
  expect(client.bytes).toBe(0)
  unsent.add(-1)
  await served()
  expect(client.bytes).toBeGreaterThan(100)
})

test("a client that sends ahead of its answers is not read from until it has them", async () => {
  const { client, connection } = connect(0)
  for (let sent = 0; sent < 200_000; sent += REQUEST.length) connection.received(REQUEST)
  expect(client.isPaused).toBe(true)
  client.takes = Number.POSITIVE_INFINITY
  connection.drained()
  await Bun.sleep(0)
  while (client.isPaused) await served()
  expect(client.isClosed).toBe(false)
})

test("clients that together send too much at once are disconnected", () => {
  const { client, connection } = connect()
  receiving.add(LIMITS.receivingBytes)
  connection.received(REQUEST.subarray(0, 5))
  expect(client.isClosed).toBe(true)
  expect(refused).toEqual(["clients send more than is taken at once"])
})
