import { afterAll, afterEach, expect, spyOn, test } from "bun:test"
import { connectionOf } from "../../test/support/listener-client.ts"
import { steadyMs } from "../clock/clock.ts"
import type { ClientConnection } from "./connection.ts"
import { LIMITS, SharedBytes } from "./limits.ts"
import { ClientAuthentication } from "./security/authentication.ts"
import { usersOf } from "./security/credentials.ts"

/** A client whose socket accepts as many bytes as the test says. */
class Client {
  takes = 0
  isClosed = false
  readonly refusals: string[] = []
  readonly receiving = new SharedBytes(LIMITS.receivingBytes)
  readonly connection: ClientConnection

  constructor(unsent: SharedBytes) {
    const socket = {
      write: (bytes: Uint8Array): number => {
        const taken = Math.min(this.takes, bytes.length)
        this.takes -= taken
        return taken
      },
      pause() {},
      resume() {},
      terminate: () => (this.isClosed = true),
    }
    this.connection = connectionOf(socket, {
      receiving: this.receiving,
      unsent,
      authentication: new ClientAuthentication(usersOf([]), false),
      refused: (reason) => this.refusals.push(reason),
    })
  }

  /** Asks for the versions of the APIs. */
  async ask(): Promise<void> {
    this.connection.received(Buffer.from([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 255, 255]))
    await new Promise(setImmediate)
  }
}

const startMs = performance.now()
let passedMs = 0
const clock = spyOn(performance, "now").mockImplementation(() => startMs + passedMs)
afterEach(() => {
  passedMs = 0
})
afterAll(() => clock.mockRestore())

test("a client that takes a byte at a time is disconnected when others wait for room, and not before", async () => {
  const unsent = new SharedBytes(100)
  const client = new Client(unsent)
  await client.ask()
  const drip = (): void => {
    passedMs += LIMITS.stalledMs - 1000
    client.takes = 1
    client.connection.drained()
    client.connection.check(steadyMs())
  }
  drip()
  expect(client.isClosed).toBe(false)
  drip()
  expect(client.refusals).toEqual(["it does not take its answer"])
  expect(unsent.isFull).toBe(false)
})

test("a client that sends and takes nothing of its answer is disconnected", async () => {
  const client = new Client(new SharedBytes(LIMITS.unsentBytes))
  await client.ask()
  for (let n = 0; n < 3; n++) {
    passedMs += LIMITS.stalledMs / 2
    await client.ask()
  }
  client.connection.check(steadyMs())
  expect(client.refusals).toEqual(["it does not take its answer"])
})

test("a client that does not authenticate is disconnected, whatever it asks for meanwhile", async () => {
  const client = new Client(new SharedBytes(LIMITS.unsentBytes))
  client.takes = Number.POSITIVE_INFINITY
  passedMs += LIMITS.authenticationMs - 1000
  await client.ask()
  client.connection.check(steadyMs())
  expect(client.isClosed).toBe(false)
  passedMs += 2000
  client.connection.check(steadyMs())
  expect(client.isClosed).toBe(true)
})

test("what comes after the end of a connection is not counted", () => {
  const client = new Client(new SharedBytes(LIMITS.unsentBytes))
  client.connection.closed()
  client.connection.received(Buffer.alloc(LIMITS.receivingBytes))
  expect(client.receiving.isFull).toBe(false)
})
