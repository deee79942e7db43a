import { steadyMs } from "../../../clock.ts"
import type { EndpointOptions } from "../../../config/sections/endpoint.ts"
import type { Broker } from "./apis/context.ts"
import { Connection } from "./connection.ts"
import { Authentication } from "./security/authentication.ts"
import type { Users } from "./security/credentials.ts"
import { LIMITS, SharedBytes } from "./limits.ts"

const CHECK_MS = 5000

/** An address that clients connect to. */
export interface PortOptions {
  readonly listen: EndpointOptions
  /** What clients are told to connect to; undefined: the address that they have connected to. */
  readonly advertised: EndpointOptions | undefined
  readonly tls: PortTls | undefined
  /** undefined: clients do not authenticate. */
  readonly users: Users | undefined
}

/** In PEM. */
export interface PortTls {
  readonly cert: string
  readonly key: string
}

export interface PortDependencies {
  readonly broker: Broker
  readonly failed: (error: unknown) => void
  readonly refused: (reason: string, client: string) => void
}

/** Listens for clients. */
export class Port {
  readonly #server: Bun.TCPSocketListener<Connection | undefined>
  readonly #connections = new Set<Connection>()
  readonly #check: Timer
  /** As far as it is not the server's, for new connections. */
  options: PortOptions

  /** @throws Error of the system */
  constructor(options: PortOptions, { broker, failed, refused }: PortDependencies) {
    this.options = options
    const { listen, tls } = options
    const receiving = new SharedBytes(LIMITS.receivingBytes)
    const unsent = new SharedBytes(LIMITS.unsentBytes)
    this.#server = Bun.listen<Connection | undefined>({
      hostname: listen.host,
      port: listen.port,
      ...(tls !== undefined && { tls }),
      socket: {
        binaryType: "uint8array",
        open: (socket) => {
          const client = `${socket.remoteAddress}`
          if (this.#connections.size >= LIMITS.connections) {
            refused(`there are ${LIMITS.connections} connections`, client)
            socket.terminate()
            return
          }
          socket.setNoDelay(true)
          const own = { host: socket.localAddress, port: socket.localPort }
          const connection = new Connection(socket, {
            broker,
            clientHost: `/${client}`,
            authentication: new Authentication(this.options.users, tls !== undefined),
            advertised: () => this.options.advertised ?? own,
            receiving,
            unsent,
            failed,
            refused: (reason) => refused(reason, client),
          })
          socket.data = connection
          this.#connections.add(connection)
        },
        data: (socket, chunk) => socket.data?.received(chunk),
        drain: (socket) => socket.data?.drained(),
        close: (socket) => {
          if (socket.data === undefined) return
          socket.data.closed()
          this.#connections.delete(socket.data)
        },
        error: () => {
          // `close` follows
        },
      },
    })
    this.#check = setInterval(() => {
      const nowMs = steadyMs()
      for (const connection of this.#connections) connection.check(nowMs)
    }, CHECK_MS)
  }

  get port(): number {
    return this.#server.port
  }

  /** Disconnects all clients. */
  close(): void {
    clearInterval(this.#check)
    this.#server.stop(true)
  }
}
