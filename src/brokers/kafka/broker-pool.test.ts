import { expect, test } from "bun:test"
import { CONNECT_TIMEOUT_MS } from "./timeouts.ts"
import { AdaptiveTimeout } from "./adaptive-timeout.ts"
import { BrokerPool } from "./broker-pool.ts"
import type { BrokerSocket } from "./broker-socket.ts"
import type { KafkaConnection } from "./connection.ts"

const API_VERSIONS = 18

/** A connection that says which APIs it knows, and whether it was closed. */
function openConnection(): { raw: BrokerSocket; isClosed: () => boolean } {
  let isOpen = true
  const send: BrokerSocket["send"] = (_api, _version, _encode, _decode, _, __, callback) =>
    callback(null, { apiKeys: [{ apiKey: API_VERSIONS, minVersion: 0, maxVersion: 3 }] } as never)
  const close = (): void => void (isOpen = false)
  const raw = {
    get isOpen() {
      return isOpen
    },
    send,
    close,
  }
  return { raw: raw as unknown as BrokerSocket, isClosed: () => !isOpen }
}

/** A pool of one broker, whose connections are given by the test. */
function poolOfOne() {
  const attempts: PromiseWithResolvers<BrokerSocket>[] = []
  const connect = (): Promise<BrokerSocket> => {
    const attempt = Promise.withResolvers<BrokerSocket>()
    attempts.push(attempt)
    return attempt.promise
  }
  const pool = new BrokerPool({
    clientId: "test",
    bootstrap: [{ host: "127.0.0.1", port: 9092 }],
    connectTimeout: new AdaptiveTimeout(CONNECT_TIMEOUT_MS),
    hasAnswered: false,
    connect,
  })
  /** The nth attempt to connect, once it is made. */
  const attempt = async (at: number): Promise<PromiseWithResolvers<BrokerSocket>> => {
    while (attempts.length <= at) await new Promise(setImmediate)
    return attempts[at]!
  }
  return { pool, attempts, attempt }
}

test("a connection that fails closes none of another ask's", async () => {
  const { pool, attempts, attempt } = poolOfOne()
  const first = pool.ask(() => Promise.reject(new Error("not asked")))
  const answer = Promise.withResolvers<string>()
  const asked = Promise.withResolvers<KafkaConnection>()
  const second = pool.ask((connection) => (asked.resolve(connection), answer.promise))
  const opened = openConnection()
  ;(await attempt(1)).resolve(opened.raw)
  await asked.promise
  ;(await attempt(0)).reject(new Error("connection refused"))
  await expect(first).rejects.toThrow("connection refused")
  expect(opened.isClosed()).toBe(false)
  answer.resolve("answer")
  expect((await second).answer).toBe("answer")
  expect((await pool.ask(async (connection) => connection)).answer).toBe(await asked.promise)
  expect(attempts).toHaveLength(2)
  pool.close()
  expect(opened.isClosed()).toBe(true)
})

test("a question that fails closes its own connection, and not the one that was opened after it", async () => {
  const { pool, attempt } = poolOfOne()
  const answer = Promise.withResolvers<never>()
  const asked = Promise.withResolvers<KafkaConnection>()
  const first = pool.ask((connection) => (asked.resolve(connection), answer.promise))
  const [before, behind] = [openConnection(), openConnection()]
  ;(await attempt(0)).resolve(before.raw)
  await asked.promise
  before.raw.close()
  const second = pool.ask(async (connection) => connection)
  ;(await attempt(1)).resolve(behind.raw)
  await second
  answer.reject(new Error("connection closed"))
  await expect(first).rejects.toThrow("connection closed")
  expect(behind.isClosed()).toBe(false)
  const third = pool.ask(() => Promise.reject(new Error("no answer")))
  await expect(third).rejects.toThrow("no answer")
  expect(behind.isClosed()).toBe(true)
  pool.close()
})
