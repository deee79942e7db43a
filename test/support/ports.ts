import { createServer, type Server } from "node:net"

/**
 * Ports that were free a moment ago, and that no other process of tests gets while this one runs. They lie below those that
 * systems give to outgoing connections and to listeners on port 0 (from 32768 on Linux), so that none of these takes one
 * while its owner is down.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS)
    if ((await claim(port)) && (await isFree(port))) ports.push(port)
  }
  return ports
}

/** One of freePorts(). */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}

const LOWEST_PORT = 12_000
const PORTS = 20_000

export function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.on("error", () => resolve(false))
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  return promise
}

/** Claims a port among processes of tests, by a name that Linux frees when this one ends (abstract socket, unix(7)). */
function claim(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  if (process.platform !== "linux") return Promise.resolve(true)
  const server = createServer()
  server.on("error", () => resolve(false))
  server.listen({ path: `\0hookline-test-port-${port}` }, () => {
    server.unref()
    claims.push(server)
    resolve(true)
  })
  return promise
}

const claims: Server[] = []
