import { listenFailure, type EndpointOptions } from "../addresses/endpoint.ts"
import { OptionError, type HooklineError } from "../errors.ts"
import { isListenedOn } from "../process/listening-ports.ts"
import { problem, REFUSALS } from "./answer.ts"
import { newRequestId } from "./request-id.ts"
import {
  dispatch,
  refuseSpelling,
  routesFor,
  targetOf,
  type Endpoint,
  type RequestHandlers,
} from "./routes.ts"

/**
 * Idle timeout of a kept-alive connection: above the usual minute of load balancers, so that they close first. Bun
 * counts in steps of 4 s.
 *
 * The timeout of a header section is Bun's own: 8 to 12 s after a connection's first byte, whatever is set; on a
 * kept-alive connection this idle timeout, from the previous answer. Bun closes without an answer.
 */
export const IDLE_TIMEOUT_S = 75

/**
 * A host and port to listen on. Its handlers can be replaced, and its certificates: Bun's own reload ignores new ones,
 * so another socket is opened on the port and the old one closed.
 */
export class Listener {
  readonly address: EndpointOptions
  #handlers: RequestHandlers
  #tls: Bun.TLSOptions | undefined
  #url: string
  readonly #idleTimeoutS: number
  /** Accepts connections; undefined: paused or stopped. */
  #current: Bun.Server<undefined> | undefined
  /** Accept no connections; open requests are finished. */
  readonly #closing = new Set<Bun.Server<undefined>>()
  #isPaused = false

  /**
   * @param isShared whether the port's other listeners are known: this process, on an overlapping host, or other instances;
   *   otherwise the port must be free
   * @param idleTimeoutS of a connection without a request
   * @throws HooklineError `listen`
   */
  constructor(
    address: EndpointOptions,
    tls: Bun.TLSOptions | undefined,
    handlers: RequestHandlers,
    { isShared, idleTimeoutS = IDLE_TIMEOUT_S }: { isShared: boolean; idleTimeoutS?: number },
  ) {
    this.#handlers = handlers
    this.#tls = tls
    this.#idleTimeoutS = idleTimeoutS
    if (address.port !== 0 && !isShared) checkUnshared(address)
    const server = this.#listen(address, tls)
    this.#current = server
    this.address = { host: address.host, port: server.port! }
    this.#url = server.url.origin
  }

  /** `http://127.0.0.1:8080`, with the bound port. */
  get url(): string {
    return this.#url
  }

  get endpoints(): RequestHandlers["endpoints"] {
    return this.#handlers.endpoints
  }

  /** Replaces the handlers, on open connections too. */
  setHandlers(handlers: RequestHandlers): void {
    this.#handlers = handlers
    this.#current?.reload(this.#serveOptions())
    for (const server of this.#closing) server.reload(this.#serveOptions(withClose))
  }

  /** Opens a socket for other certificates. @returns switches to it, or closes it. @throws HooklineError `listen` */
  prepare(tls: Bun.TLSOptions | undefined): { takeOver: () => void; abort: () => void } {
    if (Bun.deepEquals(tls, this.#tls)) return { takeOver() {}, abort() {} }
    const server = this.#listen(this.address, tls)
    return {
      abort: () => void server.stop(true),
      takeOver: () => {
        this.#close()
        this.#current = server
        this.#isPaused = false
        this.#tls = tls
        this.#url = server.url.origin
      },
    }
  }

  /** Accepts no connections until `resume`; open requests are finished, idle connections closed. */
  pause(): void {
    if (this.#current === undefined) return
    this.#close()
    this.#isPaused = true
  }

  /** @throws HooklineError `listen` */
  resume(): void {
    if (!this.#isPaused) return
    this.#current = this.#listen(this.address, this.#tls)
    this.#isPaused = false
  }

  /** Closes all connections at once, and listens again. @throws HooklineError `listen` */
  reopen(): void {
    void this.stop(true)
    this.#current = this.#listen(this.address, this.#tls)
  }

  /** Accepts no more connections; open requests are finished, other connections closed. */
  async stop(now: boolean): Promise<void> {
    this.#close()
    this.#isPaused = false
    await Promise.all([...this.#closing].map((server) => server.stop(now)))
  }

  #close(): void {
    const server = this.#current
    if (server === undefined) return
    this.#current = undefined
    this.#closing.add(server)
    server.reload(this.#serveOptions(withClose))
    void server.stop(false).finally(() => this.#closing.delete(server))
  }

  #serveOptions(answering = (endpoint: Endpoint): Endpoint => endpoint) {
    const { endpoints, failed } = this.#handlers
    const refuse = answering(refuseSpelling(this.#handlers))
    return {
      routes: routesFor(endpoints, answering(dispatch(this.#handlers)), refuse),
      fetch: (request: Request, server: Bun.Server<undefined>) =>
        refuse(request, server, targetOf(request.url)),
      error: (error: unknown) => {
        const id = newRequestId()
        failed(error, id)
        return problem(REFUSALS.internal, false, id)
      },
    }
  }

  #listen({ host, port }: EndpointOptions, tls: Bun.TLSOptions | undefined): Bun.Server<undefined> {
    try {
      return Bun.serve({
        hostname: host,
        port,
        reusePort: true,
        ...(tls === undefined ? {} : { tls }),
        idleTimeout: this.#idleTimeoutS,
        // endpoints limit bodies; Bun would answer 413 without problem details
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        development: false,
        ...this.#serveOptions(),
      })
    } catch (error) {
      throw notListening({ host, port }, error)
    }
  }
}

/**
 * Refuses an address in use, which SO_REUSEPORT would share with its process. Where the system says that nothing listens on
 * the port it is not opened for this: connections of that moment would be reset.
 *
 * @throws HooklineError `listen`
 */
function checkUnshared(address: EndpointOptions): void {
  if (isListenedOn(address.port) !== false) checkFree(address)
}

/** Refuses an address that can't be listened on, by opening it. @throws HooklineError `listen` */
export function checkFree(address: EndpointOptions): void {
  try {
    void Bun.serve({ hostname: address.host, port: address.port, fetch: () => new Response() }).stop(true)
  } catch (error) {
    throw notListening(address, error)
  }
}

/** For a socket that accepts no more connections: each ends with its next answer. */
const withClose =
  (endpoint: Endpoint): Endpoint =>
  async (request, server, target) => {
    const response = await endpoint(request, server, target)
    response.headers.set("Connection", "close")
    return response
  }

function notListening(address: EndpointOptions, cause: unknown): HooklineError {
  const failure = cause as NodeJS.ErrnoException
  const key = failure.code === "EADDRNOTAVAIL" ? "host" : "port"
  return new OptionError("listen", key, listenFailure(address, failure), { cause })
}
