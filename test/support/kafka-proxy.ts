import { connect, createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"
import { steadyMs } from "../../src/clock/clock.ts"

/** A network between clients and a broker that a test can harm. */
export interface Proxy extends AsyncDisposable {
  /** `host:port` where clients connect. */
  readonly address: string
  /** `host:port` of the broker; connections are refused until it is set. */
  target: string | undefined
  /** Requests pass; the first answer is lost and the connection with it. New ones are refused. */
  loseAnswers(): void
  /** Requests pass, and nothing comes back: connections stay open, new ones too. */
  holdAnswers(): void
  /** Half of the next produce request passes, then both sides are reset; resolves when that has happened. */
  cutProduce(): Promise<void>
  /** Silently drops what comes on connections on which nothing passed for so long, as a NAT does that forgot them. */
  forgetIdle(afterMs: number): void
  /** Everything passes again; what was forgotten stays so. */
  heal(): void
  /** How many bytes clients have sent. */
  readonly sentBytes: number
  /** How many connections clients have opened. */
  readonly opened: number
  /** How many connections clients have closed. */
  readonly closedByClients: number
  /** How many connections the broker has closed before the client did. */
  readonly closedByBroker: number
}

/** @param delayMs for how long what passes is on its way, in each direction */
export async function openProxy({ delayMs = 0 } = {}): Promise<Proxy> {
  /** Timers of one length fire in their order, and so the bytes arrive in theirs. */
  const pass = (to: Socket, bytes: Buffer): void => {
    if (delayMs === 0) to.write(bytes)
    else setTimeout(() => to.write(bytes), delayMs)
  }
  let losing = false
  let holding = false
  let forgetAfterMs = Number.POSITIVE_INFINITY
  let sentBytes = 0
  let opened = 0
  let closedByClients = 0
  let closedByBroker = 0
  let cutting: PromiseWithResolvers<void> | undefined
  const open = new Set<Socket>()
  const server = createServer((client) => {
    open.add(client)
    opened++
    client.on("close", () => open.delete(client))
    client.on("error", () => client.destroy())
    if (proxy.target === undefined || losing) {
      client.destroy()
      return
    }
    const [host, port] = proxy.target.split(":") as [string, string]
    const broker = connect(Number(port), host)
    broker.on("error", () => client.destroy())
    broker.on("close", () => setTimeout(() => client.destroy(), 30))
    client.on("close", () => broker.destroy())
    client.on("end", () => (closedByClients += 1))
    // not its answer to a client that closed, which may be told in TLS a moment before it is in TCP
    const count = (): void => void (closedByBroker += client.readableEnded || client.errored ? 0 : 1)
    broker.on("end", () => setTimeout(count, 20))
    let lastMs = steadyMs()
    let isForgotten = false
    /** Whether the connection is still known; what passes now counts. */
    const isKnown = (): boolean => {
      isForgotten ||= steadyMs() - lastMs > forgetAfterMs
      lastMs = steadyMs()
      return !isForgotten
    }
    client.on("data", (bytes: Buffer) => {
      sentBytes += bytes.length
      if (!isKnown()) return
      if (cutting === undefined || !isProduce(bytes)) return pass(broker, bytes)
      broker.write(bytes.subarray(0, bytes.length / 2), () => broker.resetAndDestroy())
      client.resetAndDestroy()
      cutting.resolve()
      cutting = undefined
    })
    broker.on("data", (bytes: Buffer) => {
      if (losing) client.destroy()
      else if (isKnown() && !holding) pass(client, bytes)
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const proxy: Proxy = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: undefined,
    loseAnswers: () => (losing = true),
    holdAnswers: () => (holding = true),
    cutProduce: () => (cutting ??= Promise.withResolvers()).promise,
    forgetIdle: (afterMs) => (forgetAfterMs = afterMs),
    heal() {
      losing = holding = false
      forgetAfterMs = Number.POSITIVE_INFINITY
    },
    get sentBytes() {
      return sentBytes
    },
    get opened() {
      return opened
    },
    get closedByClients() {
      return closedByClients
    },
    get closedByBroker() {
      return closedByBroker
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
  return proxy
}

/** Whether what came begins with a produce request: length int32, API key int16 = 0. */
const isProduce = (bytes: Buffer): boolean => bytes.length > 6 && bytes.readInt16BE(4) === 0
