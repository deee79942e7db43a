import { steadyMs } from "../clock/clock.ts"
import type { BrokerAddress, ServedBroker } from "./apis/context.ts"
import { ClientConnection, type GuessLimit } from "./connection.ts"
import { ClientAuthentication } from "./security/authentication.ts"
import type { Users } from "./security/credentials.ts"
import { LIMITS, SharedBytes } from "./limits.ts"

const CHECK_MS = 1000

/** An address that clients connect to. */
export interface PortOptions {
  readonly listen: BrokerAddress
  /** The address that clients are sent to; undefined: the address that they have connected to. */
  readonly advertised: BrokerAddress | undefined
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
  readonly broker: ServedBroker
  readonly guesses: GuessLimit
  /** Whether clients have taken so many file descriptors that a new one has to make room. */
  readonly isHalfOpen: () => boolean
  readonly failed: (error: unknown) => void
  readonly refused: (reason: string, client: string) => void
}

/** Listens for clients. */
export class ListenerPort {
  readonly #server: Bun.TCPSocketListener<ClientConnection | undefined>
  /** The oldest first. */
  readonly #connections = new Set<ClientConnection>()
  readonly #guesses: GuessLimit
  readonly #isHalfOpen: () => boolean
  readonly #check: Timer
  /** They may change: `users` for new connections, `advertised` at once; `listen` and `tls` stay the server's. */
  options: PortOptions

  /** @throws Error of the system */
  constructor(options: PortOptions, { broker, guesses, isHalfOpen, failed, refused }: PortDependencies) {
    this.options = options
    this.#guesses = guesses
    this.#isHalfOpen = isHalfOpen
    const { listen, tls } = options
    const receiving = new SharedBytes(LIMITS.receivingBytes)
    const unsent = new SharedBytes(LIMITS.unsentBytes)
    this.#server = Bun.listen<ClientConnection | undefined>({
      hostname: listen.host,
      port: listen.port,
      ...(tls !== undefined && { tls }),
      socket: {
        binaryType: "uint8array",
        open: (socket) => {
          const client = `${socket.remoteAddress}`
          const full = this.#makeRoom()
          if (full !== undefined) {
            refused(full, client)
            socket.terminate()
            return
          }
          socket.setNoDelay(true)
          const own = { host: socket.localAddress, port: socket.localPort }
          const deps = {
            broker,
            clientAddress: client,
            guesses,
            authentication: new ClientAuthentication(this.options.users, tls !== undefined),
            advertised: () => this.options.advertised ?? own,
            receiving,
            unsent,
            failed,
            refused: (reason: string) => refused(reason, client),
          }
          const connection = new ClientConnection(socket, deps, tls === undefined)
          socket.data = connection
          this.#connections.add(connection)
        },
        // with it `open` comes at the accept, not after the handshake; where that fails, `close` follows
        handshake: (socket, isSecure) => {
          if (isSecure) socket.data?.secured()
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

  /**
   * Has the oldest client that is not known make room where there is none.
   *
   * @returns why there is none; undefined: there is
   */
  #makeRoom(): string | undefined {
    const isFull = this.#connections.size >= LIMITS.connections
    if (!isFull && !this.#isHalfOpen()) return undefined
    const oldest = this.#connections.values().find(({ isKnown }) => !isKnown)
    if (oldest !== undefined) {
      oldest.makeRoom()
      this.#connections.delete(oldest)
      return undefined
    }
    return isFull
      ? `there are ${LIMITS.connections} connections`
      : "half of the process's file descriptors are open; the others are kept for webhooks and probes"
  }

  get port(): number {
    return this.#server.port
  }

  /** Disconnects all clients. */
  close(): void {
    clearInterval(this.#check)
    this.#guesses.close()
    this.#server.stop(true)
  }
}
