import { promisify } from "node:util"
import * as zlib from "node:zlib"
import { steadyMs } from "../../clock/clock.ts"
import type { EndpointOptions } from "../../config/sections/endpoint.ts"
import { BrokerSocket, type SocketOptions } from "./broker-socket.ts"

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
  readonly connect: (endpoint: EndpointOptions, options: SocketOptions) => Promise<BrokerSocket>
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
  connect: BrokerSocket.connect,
}
