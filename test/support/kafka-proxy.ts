import { connect, createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"

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
  /** Everything passes again. */
  heal(): void
}

export async function openProxy(): Promise<Proxy> {
  let losing = false
  let holding = false
  let cutting: PromiseWithResolvers<void> | undefined
  const open = new Set<Socket>()
  const server = createServer((client) => {
    open.add(client)
    client.on("close", () => open.delete(client))
    client.on("error", () => client.destroy())
    if (proxy.target === undefined || losing) {
      client.destroy()
      return
    }
    const [host, port] = proxy.target.split(":") as [string, string]
    const broker = connect(Number(port), host)
    broker.on("error", () => client.destroy())
    broker.on("close", () => client.destroy())
    client.on("close", () => broker.destroy())
    client.on("data", (bytes: Buffer) => {
      if (cutting === undefined || !isProduce(bytes)) return void broker.write(bytes)
      broker.write(bytes.subarray(0, bytes.length / 2), () => broker.resetAndDestroy())
      client.resetAndDestroy()
      cutting.resolve()
      cutting = undefined
    })
    broker.on("data", (bytes) => {
      if (losing) client.destroy()
      else if (!holding) client.write(bytes)
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const proxy: Proxy = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: undefined,
    loseAnswers: () => (losing = true),
    holdAnswers: () => (holding = true),
    cutProduce: () => (cutting ??= Promise.withResolvers()).promise,
    heal: () => (losing = holding = false),
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
  return proxy
}

/** Whether what came begins with a produce request: length int32, API key int16 = 0. */
const isProduce = (bytes: Buffer): boolean => bytes.length > 6 && bytes.readInt16BE(4) === 0
