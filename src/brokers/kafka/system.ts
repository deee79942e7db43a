import { isIP } from "node:net"
import { promisify } from "node:util"
import * as zlib from "node:zlib"
import { Connection, type ConnectionOptions } from "@platformatic/kafka"
import { steadyMs } from "../../clock/clock.ts"
import type { EndpointOptions } from "../../config/sections/endpoint.ts"
import { CONNECT_TIMEOUT_MS, KEEP_ALIVE_MS } from "./timeouts.ts"

/** Clock, timers and sockets, as the client uses them. A simulation has its own. */
export interface System {
  /** Milliseconds, by a clock that never steps. */
  readonly steadyMs: () => number
  /** Milliseconds since 1970. */
  readonly timeOfDayMs: () => number
  readonly setTimeout: (run: () => void, ms: number) => Timer
  readonly clearTimeout: (timer: Timer | undefined) => void
  /** Runs after the I/O events that are due. */
  readonly setImmediate: (run: () => void) => void
  /** Compresses in another thread, as the client library does on the event loop; absent: batches are compressed there. */
  readonly compress?: ((algorithm: "gzip" | "zstd", bytes: Uint8Array) => Promise<Uint8Array>) | undefined
  /** Connects to a broker and authenticates. Requests fail after `requestTimeout`, and the connection with them. */
  readonly connect: (
    clientId: string,
    endpoint: EndpointOptions,
    options: Pick<ConnectionOptions, "tls" | "sasl" | "requestTimeout">,
  ) => Promise<Connection>
}

const gzip = promisify<Uint8Array, Buffer>(zlib.gzip)
const zstd = promisify<Uint8Array, Buffer>(zlib.zstdCompress)

export const SYSTEM: System = {
  steadyMs,
  timeOfDayMs: Date.now,
  setTimeout,
  clearTimeout,
  setImmediate,
  compress: (algorithm, bytes) => (algorithm === "gzip" ? gzip(bytes) : zstd(bytes)),
  async connect(clientId, { host, port }, options) {
    const connection = new Connection(clientId, {
      ...options,
      // SNI is for names; an address is not allowed in it (RFC 6066, section 3)
      tlsServerName: isIP(host) === 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
    })
    // each failure also rejects the call it concerns; without a listener the event would be thrown
    connection.on("error", () => connection.socket?.destroy())
    await connection.connect(host, port)
    // one that the broker closed would continue to authenticate again, in time
    connection.once("close", () => void connection.close())
    connection.socket.setKeepAlive(true, KEEP_ALIVE_MS)
    return connection
  },
}
