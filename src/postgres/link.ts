import { Socket } from "node:net"
import type { PostgresServer } from "./server.ts"
import type { Client, QueryResult } from "./pg-sdk.ts"

/** Time to connect and authenticate. */
const CONNECT_MS = 5000
/** Idle time after which the system asks whether the server is still there. */
const KEEP_ALIVE_MS = 10_000

export interface Answer<Row> {
  readonly rows: readonly Row[]
  /**
   * What the server warned of meanwhile. A commit whose wait for a synchronous standby was cancelled succeeds with a warning
   * alone: https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
   */
  readonly warnings: readonly string[]
}

/**
 * One connection to a database. It ends with the first failure of the connection; whoever wants another opens one. Statements
 * are unnamed, so that a pooler may pass each transaction to another server process, and are answered in their order.
 */
export class PostgresLink {
  readonly #client: Client
  readonly #socket: Socket
  /** The warnings of the statement that runs. */
  #warnings: string[] = []
  /** Resolves when the statement that was asked last has its answer. */
  #running = Promise.resolve()
  #ended = false

  /** @param ended called once when the connection is gone, unless `close` or `drop` was called @throws what the client throws */
  static async open(
    server: PostgresServer,
    name: string,
    ended: (cause: unknown) => void,
  ): Promise<PostgresLink> {
    const { Client } = await import("./pg-sdk.ts")
    const socket = new Socket()
    const { host, port, user, password, database, options } = server
    const client = new Client({
      host,
      port,
      user: user ?? "postgres",
      // a function, so that neither variables nor files of the user's are read for it
      password: () => password ?? "",
      ...(database !== undefined && { database }),
      ...(options !== undefined && { options }),
      application_name: name,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      stream: () => socket,
      ssl: tlsOf(server),
    })
    const link = new PostgresLink(client, socket, ended)
    try {
      await client.connect()
    } catch (error) {
      link.drop()
      throw error
    }
    return link
  }

  private constructor(client: Client, socket: Socket, ended: (cause: unknown) => void) {
    this.#client = client
    this.#socket = socket
    const end = (cause: unknown): void => {
      if (this.#ended) return
      this.drop()
      ended(cause)
    }
    client.on("error", end)
    client.on("end", () => end(new Error("closed the connection")))
    client.on("notice", ({ severity, message }) => {
      if (severity === "WARNING") this.#warnings.push(message ?? "a warning without a text")
    })
  }

  /** The id of the server's process; a pooler has its own. */
  get processId(): number {
    return (this.#client as unknown as { readonly processID: number }).processID
  }

  /**
   * Runs one statement as a transaction of its own. A rejection other than a DatabaseError leaves open whether it was committed.
   *
   * @param values a Uint8Array is a bytea, others are sent as text
   */
  async run<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Answer<Row>> {
    const before = this.#running
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#running = promise
    try {
      await before
      this.#warnings = []
      const result: QueryResult<Row> = await this.#client.query<Row>(text, [...values])
      return { rows: result.rows, warnings: this.#warnings }
    } finally {
      resolve()
    }
  }

  /** Closes the connection when what was asked is answered. */
  async close(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#client.end()
  }

  /** Closes the connection at once. A statement of it may still be committed. */
  drop(): void {
    this.#ended = true
    this.#socket.destroy()
  }
}

function tlsOf({ sslmode, ca, host }: PostgresServer) {
  if (sslmode === "disable") return false
  // as libpq has it: with a CA of one's own, `require` verifies it
  const isVerified = sslmode !== "require" || ca !== undefined
  return {
    rejectUnauthorized: isVerified,
    host,
    ...(ca !== undefined && { ca }),
    ...(sslmode !== "verify-full" && { checkServerIdentity: () => undefined }),
  }
}
