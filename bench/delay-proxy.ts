/**
 * A process of its own that stands for a network: what comes on its port goes on to the address that it is sent, and back,
 * so many milliseconds later. `bun bench/delay-proxy.ts MILLISECONDS`; it sends its own address first.
 */
import { connect, createServer, type AddressInfo, type Socket } from "node:net"

const delayMs = Number(process.argv[2])
let target: { host: string; port: number } | undefined

process.on("message", (address: string) => {
  const [host = "", port] = address.split(":")
  target = { host, port: Number(port) }
})
process.on("disconnect", () => process.exit(0))

const server = createServer((near) => {
  const far = connect(target!.port, target!.host)
  carry(near, far)
  carry(far, near)
})
server.listen(0, "127.0.0.1", () => {
  process.send!(`127.0.0.1:${(server.address() as AddressInfo).port}`)
})

/** Timers of one length fire in their order, and so the bytes arrive in theirs. */
function carry(from: Socket, to: Socket): void {
  from.setNoDelay(true)
  from.on("data", (bytes) => setTimeout(() => to.write(bytes), delayMs))
  from.on("close", () => setTimeout(() => to.destroy(), delayMs))
  from.on("error", () => from.destroy())
}
