import { FrameSplitter } from "../../support/kafka-frames.ts"
import type { Random } from "../../support/random.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import { activeWorld, type World } from "../world.ts"

/** What a server is given of a connection: it calls `send` and `close`, and sets what is called. */
export interface ServerSide {
  /** The client's process. */
  readonly client: SimulatedProcess
  readonly number: number
  onData: (bytes: Buffer) => void
  onClosed: () => void
  send(bytes: Buffer): void
  /** @param isReset the client sees an error, and nothing more of what was under way */
  close(isReset?: boolean): void
}

/** A listening server. */
export interface Server {
  /** Undefined: connections are refused. */
  readonly process: SimulatedProcess | undefined
  accept(connection: ServerSide): void
}

/** How one direction between the clients and a server is. */
export interface Link {
  /** Added to each packet, in milliseconds. */
  delayMs: number
  /** Nothing arrives before this time; what was sent meanwhile arrives later, as TCP sends it again. */
  silentUntilMs: number
}

/** Packets of one direction of a connection, in order. */
class Stream {
  readonly world: World
  readonly random: Random
  readonly link: Link
  #lastMs = 0

  constructor(world: World, random: Random, link: Link) {
    this.world = world
    this.random = random
    this.link = link
  }

  /** When a packet that is sent now arrives. */
  arrivalMs(): number {
    const { world, random, link } = this
    let atMs = world.nowMs + LEAST_MS + random.next() * SPREAD_MS + link.delayMs
    if (atMs < link.silentUntilMs) atMs = link.silentUntilMs + random.next() * RESENT_MS
    return (this.#lastMs = Math.max(this.#lastMs, atMs))
  }
}

const LEAST_MS = 0.1
const SPREAD_MS = 0.9
/** After a silence: until TCP tries again. */
const RESENT_MS = 200

/** Connections between processes and servers, each with its own delays; what a link does it does to all of them. */
export class Network {
  readonly links = new Map<string, { readonly toServer: Link; readonly toClient: Link }>()
  /** Those that are open on the client's side. */
  readonly open = new Set<SimulatedSocket>()
  /** Sees each frame that a process sends, with the time at which it began to. */
  onSent: ((socket: SimulatedSocket, frame: Buffer, begunMs: number) => void) | undefined
  readonly #world: World
  readonly #servers: ReadonlyMap<string, Server>
  #connections = 0

  constructor(world: World, servers: ReadonlyMap<string, Server>) {
    this.#world = world
    this.#servers = servers
    for (const name of servers.keys())
      this.links.set(name, {
        toServer: { delayMs: 0, silentUntilMs: 0 },
        toClient: { delayMs: 0, silentUntilMs: 0 },
      })
  }

  /** As Bun.connect. */
  connect({ hostname, port, socket: handlers }: ConnectOptions): Promise<SimulatedSocket> {
    const name = `${hostname}:${port}`
    const number = ++this.#connections
    const client = this.#world.current!
    const socket = new SimulatedSocket(this.#world, this, { client, server: name, number, handlers })
    client.onKilled(() => socket.end())
    this.open.add(socket)
    const link = this.links.get(name)
    if (link === undefined) socket.fail("ENOTFOUND", 1)
    else {
      const random = this.#world.randomOf(`connection ${number}`)
      const toServer = new Stream(this.#world, random, link.toServer)
      const toClient = new Stream(this.#world, random, link.toClient)
      socket.begin(this.#servers.get(name)!, toServer, toClient)
    }
    return socket.opening.promise
  }

  heal(): void {
    for (const { toServer, toClient } of this.links.values())
      for (const link of [toServer, toClient]) {
        link.delayMs = 0
        link.silentUntilMs = 0
      }
  }
}

interface Handlers {
  open(socket: SimulatedSocket): void
  data(socket: SimulatedSocket, bytes: Buffer): void
  drain(socket: SimulatedSocket): void
  close(socket: SimulatedSocket, error?: Error): void
}

interface ConnectOptions {
  readonly hostname: string
  readonly port: number
  readonly socket: Handlers
}

/** A socket of Bun's, as far as the producer uses it, and the server's end of its connection. */
export class SimulatedSocket implements ServerSide {
  readonly client: SimulatedProcess
  readonly server: string
  readonly number: number
  readonly opening = Promise.withResolvers<SimulatedSocket>()
  destroyed = false
  onData: (bytes: Buffer) => void = () => {}
  onClosed: () => void = () => {}
  readonly #handlers: Handlers
  readonly #world: World
  readonly #network: Network
  #toServer: Stream | undefined
  #toClient: Stream | undefined
  #isAccepted = false
  #isOpen = false
  /** The server has closed its end: what arrives there is lost. */
  #isServerClosed = false
  #serverProcess: SimulatedProcess | undefined
  /** The kernel's buffer is full: nothing is taken for a while. `drain` comes some time after there is room again. */
  #isFull = false
  readonly #frames = new FrameSplitter()
  #begunMs: number | undefined

  constructor(
    world: World,
    network: Network,
    {
      client,
      server,
      number,
      handlers,
    }: Pick<SimulatedSocket, "client" | "server" | "number"> & { handlers: Handlers },
  ) {
    this.#world = world
    this.#network = network
    this.client = client
    this.server = server
    this.number = number
    this.#handlers = handlers
  }

  begin(server: Server, toServer: Stream, toClient: Stream): void {
    this.#toServer = toServer
    this.#toClient = toClient
    this.#arrive(toServer, () => {
      const { process } = server
      if (this.destroyed) return
      if (process?.isAlive !== true)
        return this.#arrive(toClient, () => this.#fail("ECONNREFUSED"), this.client)
      this.#serverProcess = process
      this.#isAccepted = true
      process.onKilled(() => this.close(true))
      server.accept(this)
      const opened = (): void => {
        if (this.destroyed) return
        this.#isOpen = true
        this.#handlers.open(this)
        this.opening.resolve(this)
      }
      this.#arrive(toClient, opened, this.client)
    })
  }

  /** Ends before it has begun. */
  fail(code: string, afterMs: number): void {
    this.client.run(() => this.#fail(code), afterMs)
  }

  // the client's side

  /** @returns how many bytes it has taken; -1: it is closed */
  write(bytes: Buffer): number {
    if (this.destroyed) return -1
    if (this.#isFull) return 0
    const { random } = this.#toServer!
    // not all of it, now and then
    const isCut = bytes.length > 1 && random.below(16) === 0
    const taken = Buffer.from(isCut ? bytes.subarray(0, 1 + random.below(bytes.length - 1)) : bytes)
    if (isCut) this.#drainLater(random)
    this.#begunMs ??= this.#world.nowMs
    for (const frame of this.#frames.push(taken)) {
      this.#network.onSent?.(this, frame, this.#begunMs ?? this.#world.nowMs)
      this.#begunMs = undefined
    }
    this.#arrive(
      this.#toServer!,
      () => {
        if (!this.#isServerClosed) this.onData(taken)
      },
      this.#serverProcess,
    )
    return taken.length
  }

  #drainLater(random: Random): void {
    this.#isFull = true
    const roomMs = random.next() * SPREAD_MS
    this.client.run(() => (this.#isFull = false), roomMs)
    const drain = (): void => {
      if (!this.destroyed) this.#handlers.drain(this)
    }
    this.client.run(drain, roomMs + random.next() * SPREAD_MS)
  }

  end(error?: Error): void {
    if (this.destroyed) return
    this.destroyed = true
    this.#network.open.delete(this)
    this.client.run(() => {
      if (this.#isOpen) this.#handlers.close(this, error)
      else this.opening.reject(error)
    })
    // what was written before arrives before
    if (this.#isAccepted)
      this.#arrive(
        this.#toServer!,
        () => {
          if (this.#isServerClosed) return
          this.#isServerClosed = true
          this.onClosed()
        },
        this.#serverProcess,
      )
  }

  setNoDelay = (): boolean => true
  setKeepAlive = (): boolean => true

  // the server's side

  send(bytes: Buffer): void {
    if (this.#isServerClosed) return
    const random = this.#toClient!.random
    // in two packets, now and then
    const cut = random.below(8) === 0 && bytes.length > 1 ? 1 + random.below(bytes.length - 1) : bytes.length
    for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)])
      if (part.length > 0)
        this.#arrive(
          this.#toClient!,
          () => {
            if (!this.destroyed) this.#handlers.data(this, part)
          },
          this.client,
        )
  }

  close(isReset = false): void {
    if (this.#isServerClosed) return
    this.#isServerClosed = true
    this.onClosed()
    this.#arrive(
      this.#toClient!,
      () => {
        if (isReset) this.#fail("ECONNRESET")
        else this.end()
      },
      this.client,
    )
  }

  /** Breaks it: what is under way in both directions arrives, or not, as `isLost` says. */
  cut(isLost: boolean): void {
    if (this.destroyed) return
    this.#world.tell(
      "network",
      `connection ${this.number} to ${this.server} cut${isLost ? ", with what is under way" : ""}`,
    )
    if (isLost) this.#isServerClosed = true
    if (this.#isAccepted) this.onClosed()
    this.#isServerClosed = true
    this.client.run(() => this.#fail("ECONNRESET"))
  }

  #fail(code: string): void {
    if (this.destroyed) return
    this.end(Object.assign(new Error(`${code} ${this.server}`), { code }))
  }

  #arrive(stream: Stream, run: () => void, process?: SimulatedProcess): void {
    this.#world.after(stream.arrivalMs() - this.#world.nowMs, run, process)
  }
}

interface Connecting {
  simulatedConnect?: (to: ConnectOptions) => Promise<SimulatedSocket>
}

const networks = new WeakMap<World, Network>()

/** Has connections of this world go through a network. */
export function useNetwork(world: World, network: Network): void {
  networks.set(world, network)
}

;(globalThis as Connecting).simulatedConnect = (to) => networks.get(activeWorld()!)!.connect(to)
