import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import { steadyMs } from "../../src/clock/clock.ts"
import { FrameSplitter, PRODUCE } from "./kafka-frames.ts"

/** A network between clients and one broker on which acknowledgements come late. */
export interface SlowBroker extends AsyncDisposable {
  /** `host:port` where clients connect. */
  readonly address: string
  /** `host:port` of the broker; connections are refused until it is set. */
  target: string | undefined
  /** How late, in milliseconds. */
  lateMs: number
  /**
   * Whether acknowledgements of requests that were sent together are late together, as those of a broker that is far away,
   * or each after the one before, as those of a broker that waits for a slow replica.
   */
  overlap: boolean
  /** By how much, at most, an acknowledgement came later than that: on a machine too busy for the broker or this process. */
  behindMs: number
}

export async function openSlowBroker(): Promise<SlowBroker> {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    open.add(client)
    client.on("close", () => open.delete(client))
    client.on("error", () => client.destroy())
    if (slow.target === undefined) {
      client.destroy()
      return
    }
    const [host, port] = slow.target.split(":") as [string, string]
    const broker = connect(Number(port), host)
    broker.on("error", () => client.destroy())
    broker.on("close", () => client.destroy())
    client.on("close", () => broker.destroy())
    passLate(client, broker, slow)
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const slow: SlowBroker = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: undefined,
    lateMs: 0,
    overlap: true,
    behindMs: 0,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
  return slow
}

/** Passes requests and answers, these in the order of the requests. */
function passLate(client: Socket, broker: Socket, slow: SlowBroker): void {
  const requests = new FrameSplitter()
  const answers = new FrameSplitter()
  const asked: { readonly isProduce: boolean; readonly atMs: number }[] = []
  let lastMs = 0
  client.on("data", (bytes: Buffer) => {
    for (const frame of requests.push(bytes)) {
      asked.push({ isProduce: frame.readInt16BE(4) === PRODUCE, atMs: steadyMs() })
      broker.write(frame)
    }
  })
  broker.on("data", (bytes: Buffer) => {
    for (const frame of answers.push(bytes)) {
      const { isProduce, atMs } = asked.shift()!
      const lateMs = isProduce ? slow.lateMs : 0
      lastMs = slow.overlap ? Math.max(lastMs, atMs + lateMs) : Math.max(lastMs, atMs) + lateMs
      const waitMs = lastMs - steadyMs()
      const dueMs = lastMs
      // timers of one time fire in their order
      if (waitMs <= 0 && lateMs === 0) client.write(frame)
      else
        setTimeout(
          () => {
            slow.behindMs = Math.max(slow.behindMs, steadyMs() - dueMs)
            client.write(frame)
          },
          Math.max(0, waitMs),
        )
    }
  })
}
