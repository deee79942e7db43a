import { HooklineError } from "../errors.ts"
import { problem, REFUSALS } from "./answer.ts"
import type { Endpoint } from "./endpoint.ts"
import type { PathTable } from "./path-table.ts"
import { targetOf } from "./received-request.ts"
import { routesFor, type Handler } from "./sent-paths.ts"
import { openSteering, socketDescriptors, type Steer } from "./steering.ts"

/** Answers the requests of a listener. */
export interface Answering {
  readonly endpoints: PathTable<Endpoint>
  /** For paths that no endpoint has. */
  readonly elsewhere: Endpoint
  /** For targets whose normalised path an endpoint has, but which were sent otherwise. */
  readonly misspelt: Endpoint
  /** Told of what an endpoint threw. */
  readonly failed: (error: unknown) => void
}

export interface Place {
  readonly host: string
  /** 0: the system chooses. */
  readonly port: number
}

/** A socket that listens, and what is known of it. */
interface Socket {
  readonly server: Bun.Server<undefined>
  /** undefined: it did not have to be known. */
  readonly fd: number | undefined
}

/**
 * How long a kept-alive connection may be idle: longer than the usual minute of load balancers, so that they are the
 * ones that close. Bun counts in steps of 4 s.
 *
 * The time for a header section is Bun's own: 8 to 12 s after a connection's first byte whatever is set and however the
 * bytes drip; on a kept-alive connection this idle time, counted from the answer before. Bun closes without an answer.
 */
export const IDLE_TIMEOUT_S = 75

/** When the connections of a socket that was replaced have been answered for the last time, or were idle too long. */
const REPLACED_MS = (IDLE_TIMEOUT_S + 8) * 1000
/** How many replaced sockets may be there at once; beyond them the oldest closes its idle connections early. */
const MOST_REPLACED = 64

/**
 * A place to listen. What answers can be changed at any time. Its certificates can be replaced too: Bun's own reload
 * leaves them as they are, so another socket listens on the same port from then on, and the connections of the one
 * before are closed with their next answers, by which no request is lost.
 */
export class Listener {
  /** `http://127.0.0.1:8080`, with the port that is bound. */
  readonly url: string
  readonly #place: Place
  #answering: Answering
  #tls: Bun.TLSOptions | undefined
  /** The one that takes new connections; undefined: none does any more. */
  #current: Socket | undefined
  /** All that listen, in the order of their places, see steering.ts. */
  readonly #sockets: Socket[] = []
  /** Closed by `pause`, with connections yet. */
  readonly #paused = new Set<Bun.Server<undefined>>()
  #isPaused = false
  readonly #isSteered: boolean
  #steer: Steer | undefined

  /**
   * @param isShared whether it is known who listens on the port already: this process, on a host that overlaps, or others
   *   of the same Hookline; else it has to be free
   * @param isSteered whether all sockets of the port are of this listener, so that their places are known
   * @throws HooklineError `listen`
   */
  constructor(
    place: Place,
    tls: Bun.TLSOptions | undefined,
    answering: Answering,
    { isShared, isSteered }: { isShared: boolean; isSteered: boolean },
  ) {
    this.#answering = answering
    this.#tls = tls
    this.#isSteered = isSteered
    if (place.port !== 0 && !isShared) checkFree(place)
    const server = this.#listen(place, tls)
    this.#current = { server, fd: undefined }
    this.#sockets.push(this.#current)
    this.#place = { host: place.host, port: server.port! }
    this.url = server.url.origin
  }

  get port(): number {
    return this.#place.port
  }

  /** From now on requests are answered so, those on open connections too. */
  answer(answering: Answering): void {
    this.#answering = answering
    for (const { server } of this.#sockets) server.reload(this.#handlers())
    for (const server of this.#paused) server.reload(this.#handlers())
  }

  /**
   * Opens a socket for new certificates, if they are new.
   *
   * @returns what lets it take over; before, it can be given up
   * @throws HooklineError `listen`
   */
  prepare(tls: Bun.TLSOptions | undefined): { takeOver(): void; giveUp(): void } {
    if (Bun.deepEquals(tls, this.#tls)) return { takeOver() {}, giveUp() {} }
    if (this.#isSteered) this.#steer ??= openSteering()
    const before = this.#steer && socketDescriptors()
    const server = this.#listen(this.#place, tls)
    const added = before === undefined ? [] : [...socketDescriptors().difference(before)]
    return {
      giveUp: () => void server.stop(true),
      takeOver: () => {
        const place = this.#sockets.length
        // the kernel refuses it for a socket that does not listen, which another thread may have opened
        const fd = added.find((it) => this.#steer?.(it, place))
        const replaced = this.#current
        this.#current = { server, fd }
        this.#isPaused = false
        this.#tls = tls
        this.#sockets.push(this.#current)
        if (replaced === undefined) return
        if (fd === undefined) this.#end(replaced)
        else setTimeout(() => this.#end(replaced), REPLACED_MS).unref()
        for (const oldest of this.#replaced().slice(0, -MOST_REPLACED)) this.#end(oldest)
      },
    }
  }

  /** Takes no new connections until `resume`; those with a request are closed when it is answered, idle ones now. */
  pause(): void {
    if (this.#current === undefined) return
    this.#current = undefined
    this.#isPaused = true
    for (const { server } of this.#sockets.splice(0)) {
      this.#paused.add(server)
      void server.stop(false).finally(() => this.#paused.delete(server))
    }
  }

  /** @throws HooklineError `listen` */
  resume(): void {
    if (!this.#isPaused) return
    this.#current = { server: this.#listen(this.#place, this.#tls), fd: undefined }
    this.#isPaused = false
    this.#sockets.push(this.#current)
  }

  /** Takes no new connections; those with a request are closed when it is answered, the others now. */
  async stop(now: boolean): Promise<void> {
    this.#current = undefined
    this.#isPaused = false
    const servers = [...this.#sockets.map(({ server }) => server), ...this.#paused]
    await Promise.all(servers.map((server) => server.stop(now)))
  }

  #replaced(): Socket[] {
    return this.#sockets.filter((it) => it !== this.#current)
  }

  #end(socket: Socket): void {
    const at = this.#sockets.indexOf(socket)
    if (at === -1) return
    void socket.server.stop(false)
    const last = this.#sockets.pop()!
    if (last !== socket) this.#sockets[at] = last
    const current = this.#current
    if (current?.fd !== undefined) this.#steer?.(current.fd, this.#sockets.indexOf(current))
  }

  #handlers() {
    const { endpoints, elsewhere, misspelt, failed } = this.#answering
    const closing =
      (handler: Handler): Handler =>
      (request, server, target) => {
        const answer = handler(request, server, target)
        return server === this.#current?.server ? answer : withClose(answer)
      }
    const take = closing((request, server, target) =>
      (endpoints.find(target.path) ?? elsewhere)(request, server, target),
    )
    const refuse = closing((request, server, target) =>
      (endpoints.find(target.path) === undefined ? elsewhere : misspelt)(request, server, target),
    )
    return {
      routes: routesFor(endpoints, take, refuse),
      fetch: (request: Request, server: Bun.Server<undefined>) =>
        refuse(request, server, targetOf(request.url)),
      error: (error: unknown) => {
        failed(error)
        return problem(REFUSALS.internal, false)
      },
    }
  }

  #listen({ host, port }: Place, tls: Bun.TLSOptions | undefined): Bun.Server<undefined> {
    try {
      return Bun.serve({
        hostname: host,
        port,
        reusePort: true,
        ...(tls === undefined ? {} : { tls }),
        idleTimeout: IDLE_TIMEOUT_S,
        // the limits are the endpoints' own; Bun would answer 413 without a problem document
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        development: false,
        ...this.#handlers(),
      })
    } catch (error) {
      throw notListening({ host, port }, error)
    }
  }
}

/**
 * Sees that nobody listens there: other processes' sockets would share the port silently, if they too are of the kind
 * that can be replaced.
 *
 * @throws HooklineError `listen`
 */
export function checkFree(place: Place): void {
  try {
    void Bun.serve({ hostname: place.host, port: place.port, fetch: () => new Response() }).stop(true)
  } catch (error) {
    throw notListening(place, error)
  }
}

async function withClose(answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer
  response.headers.set("Connection", "close")
  return response
}

/** `127.0.0.1:8080`, `[::1]:8080` */
export const nameOf = ({ host, port }: Place): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

const LISTEN_FAILURES: { readonly [code: string]: string } = {
  EADDRINUSE: "the port is in use; stop what uses it (ss -ltnp shows it) or set another port",
  EACCES: "no permission; ports below 1024 want root or CAP_NET_BIND_SERVICE",
  EADDRNOTAVAIL: "the host is not an address of this machine",
}

function notListening(place: Place, cause: unknown): HooklineError {
  const { code = "", message } = cause as NodeJS.ErrnoException
  return new HooklineError(
    "listen",
    `can't listen on ${nameOf(place)}: ${LISTEN_FAILURES[code] ?? message}`,
    {
      cause,
    },
  )
}
