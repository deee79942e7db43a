// Hot path: every produce request and its answer pass here.
import { isIP } from "node:net"
import { Reader, type Connection, type Writer } from "./client-library.ts"
import { steadyMs, within } from "../../clock/clock.ts"
import type { EndpointOptions } from "../../addresses/endpoint.ts"
import { KEEP_ALIVE_MS } from "./timeouts.ts"

/** A version of an API. */
export interface ApiVersion {
  readonly key: number
  readonly version: number
  /** Whether the header of an answer ends in tagged fields. */
  readonly answerHasTags: boolean
}

export interface SocketOptions {
  /** As brokers see it in their logs and quotas. */
  readonly clientId: string
  /** Absent: the connection is not encrypted. */
  readonly tls?: Pick<Bun.TLSOptions, "ca" | "cert" | "key"> | undefined
  /** Of connecting, with the TLS handshake. */
  readonly connectTimeoutMs: number
  /** After which a request without an answer fails, and the socket with it. */
  readonly requestTimeoutMs: number
}

/** Called once for a request. */
type Settle<T> = (error: Error | null, answer?: T) => void

interface InFlight {
  readonly answerHasTags: boolean
  readonly sentMs: number
  readonly parse: (body: Buffer) => unknown
  readonly settle: Settle<unknown>
}

/**
 * The socket of a connection to one broker. Requests are written as frames, and each answer goes to the request of its
 * correlation id, https://kafka.apache.org/41/design/protocol/#protocol_messages
 *
 *     request: length int32 | api_key int16 | version int16 | correlation_id int32 | client_id string | tagged fields | body
 *     answer:  length int32 | correlation_id int32 | tagged fields | body
 *
 * What the kernel does not take at once is written when it takes more. Whatever goes wrong ends the socket, and all requests
 * on it that have no answer.
 */
export class BrokerSocket {
  readonly #options: SocketOptions
  /** The beginning of each frame, up to its tagged fields. */
  readonly #head: Buffer
  readonly #opening = Promise.withResolvers<void>()
  #socket: Bun.Socket<undefined> | undefined
  #failure: Error | undefined
  #correlationId = 0
  readonly #inFlight = new Map<number, InFlight>()
  #timer: Timer | undefined
  /** What the kernel has not taken yet. */
  #unsent: Uint8Array[] = []
  #hasRead = false
  /** The beginning of an answer that has not arrived whole, and how many bytes it has to have until it is looked at. */
  #parts: Buffer[] = []
  #partBytes = 0
  #neededBytes = 0

  constructor(options: SocketOptions) {
    this.#options = options
    const clientId = Buffer.from(options.clientId)
    this.#head = Buffer.alloc(CLIENT_ID_AT + 2 + clientId.length)
    this.#head.writeInt16BE(clientId.length, CLIENT_ID_AT)
    this.#head.set(clientId, CLIENT_ID_AT + 2)
  }

  /** Connects, with TLS where that is set. @throws an error of the system or of TLS, with its `code` */
  static async connect({ host, port }: EndpointOptions, options: SocketOptions): Promise<BrokerSocket> {
    const it = new BrokerSocket(options)
    it.#connect(host, port)
    const late = (): void => it.#fail(new Error(`Connection to ${host}:${port} timed out`))
    await within(options.connectTimeoutMs, it.#opening.promise, late)
    await it.#opening.promise
    return it
  }

  get isOpen(): boolean {
    return this.#failure === undefined
  }

  /** How many bytes at the beginning of a frame are left to `request`. */
  get headBytes(): number {
    return this.#head.length
  }

  /**
   * Sends a request.
   *
   * @param pieces of its frame, which are not to change before it is settled. The first begins with `headBytes` of room
   * @param parse is given the body of the answer
   */
  request<T>(
    { key, version, answerHasTags }: ApiVersion,
    pieces: readonly Buffer[],
    parse: (body: Buffer) => T,
    settle: Settle<T>,
  ): void {
    if (this.#failure !== undefined) return settle(new Error(CLOSED))
    const id = (this.#correlationId = (this.#correlationId + 1) & 0x7fffffff)
    const first = pieces[0]!
    let bytes = 0
    for (const piece of pieces) bytes += piece.length
    first.set(this.#head)
    first.writeInt32BE(bytes - LENGTH_BYTES, 0)
    first.writeInt16BE(key, 4)
    first.writeInt16BE(version, 6)
    first.writeInt32BE(id, 8)
    this.#inFlight.set(id, { answerHasTags, sentMs: steadyMs(), parse, settle: settle as Settle<unknown> })
    this.#timer ??= setTimeout(() => this.#expire(), this.#options.requestTimeoutMs)
    for (const piece of pieces) this.#write(piece)
  }

  /** Sends a request of the client library: its functions call this on what they are given as a connection. */
  readonly send: Connection["send"] = (key, version, encode, decode, hasTags, answerHasTags, settle) => {
    const { buffer } = encode() as Writer
    const frame = Buffer.concat([Buffer.alloc(this.headBytes + (hasTags ? 1 : 0)), buffer])
    const parse = (body: Buffer) => decode(0, key, version, Reader.from(body))
    this.request({ key, version, answerHasTags }, [frame], parse, settle as Settle<unknown>)
  }

  /** Ends it at once. */
  close(): void {
    this.#fail(new Error(CLOSED))
  }

  #connect(hostname: string, port: number): void {
    const { tls } = this.#options
    // SNI is for names; an address is not allowed in it (RFC 6066, section 3)
    const name = isIP(hostname) === 0 ? { serverName: hostname } : {}
    const security = tls === undefined ? {} : { tls: { ...tls, ...name, rejectUnauthorized: true } }
    const socket: Bun.SocketHandler<undefined> = {
      open: (opened) => this.#opened(opened),
      handshake: (_, isTrusted, error) => {
        if (isTrusted) this.#opening.resolve()
        else this.#fail(error ?? new Error("the TLS handshake failed"))
      },
      data: (_, bytes) => this.#read(bytes),
      drain: () => this.#drain(),
      error: (_, error) => this.#fail(error),
      close: () => this.close(),
    }
    Bun.connect({ hostname, port, ...security, socket }).catch((error: Error) => this.#fail(error))
  }

  #opened(socket: Bun.Socket<undefined>): void {
    this.#socket = socket
    if (this.#failure !== undefined) return void socket.end()
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    if (this.#options.tls === undefined) this.#opening.resolve()
  }

  #write(bytes: Uint8Array): void {
    const written = this.#unsent.length > 0 ? 0 : Math.max(0, this.#socket!.write(bytes))
    if (written < bytes.length) this.#unsent.push(bytes.subarray(written))
  }

  #drain(): void {
    for (const bytes of this.#unsent.splice(0)) this.#write(bytes)
  }

  #read(chunk: Buffer): void {
    if (!this.#hasRead && this.#options.tls === undefined && isTlsRecord(chunk))
      return this.#fail(new Error("Broker requires TLS"))
    this.#hasRead = true
    let bytes = chunk
    if (this.#parts.length > 0) {
      this.#parts.push(chunk)
      this.#partBytes += chunk.length
      if (this.#partBytes < this.#neededBytes) return
      bytes = Buffer.concat(this.#parts)
      this.#parts = []
    }
    let at = 0
    let needed = LENGTH_BYTES
    while (bytes.length - at >= LENGTH_BYTES) {
      needed = LENGTH_BYTES + bytes.readInt32BE(at)
      if (needed < LEAST_ANSWER_BYTES || needed > MOST_ANSWER_BYTES)
        return this.#fail(new Error("the answer is not Kafka's protocol"))
      if (bytes.length - at < needed) break
      this.#answered(bytes.subarray(at + LENGTH_BYTES, at + needed))
      at += needed
      needed = LENGTH_BYTES
    }
    if (at === bytes.length || this.#failure !== undefined) return
    this.#parts = [bytes.subarray(at)]
    this.#partBytes = bytes.length - at
    this.#neededBytes = needed
  }

  #answered(answer: Buffer): void {
    const id = answer.readInt32BE(0)
    const request = this.#inFlight.get(id)
    if (request === undefined) return this.#fail(new Error(`unexpected answer, of correlation id ${id}`))
    this.#inFlight.delete(id)
    let parsed: unknown
    try {
      // none have been defined, so they are one byte
      parsed = request.parse(answer.subarray(request.answerHasTags ? 5 : 4))
    } catch (error) {
      return request.settle(error as Error)
    }
    request.settle(null, parsed)
  }

  /** The oldest request is past its time, or it looks again when that will be so. */
  #expire(): void {
    this.#timer = undefined
    const oldest = this.#inFlight.values().next().value
    if (oldest === undefined) return
    const leftMs = oldest.sentMs + this.#options.requestTimeoutMs - steadyMs()
    if (leftMs <= 0) this.#fail(new Error("Request timed out"))
    else this.#timer = setTimeout(() => this.#expire(), leftMs)
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    clearTimeout(this.#timer)
    this.#unsent = []
    this.#parts = []
    // a peer that hangs would never end a session of TLS
    if (this.#options.tls === undefined) this.#socket?.end()
    else this.#socket?.terminate()
    this.#opening.reject(error)
    const failed = [...this.#inFlight.values()]
    this.#inFlight.clear()
    for (const { settle } of failed) settle(error)
  }
}

const CLOSED = "Connection closed"
const LENGTH_BYTES = 4
const CLIENT_ID_AT = 12
/** Its length and its correlation id. */
const LEAST_ANSWER_BYTES = 8
const MOST_ANSWER_BYTES = 512 * 1024 * 1024

/** Whether bytes begin a record of TLS, with which a listener that requires it answers what is not. */
const isTlsRecord = (bytes: Buffer): boolean =>
  bytes.length >= 3 && bytes[0]! >= 0x14 && bytes[0]! <= 0x17 && bytes[1] === 3 && bytes[2]! <= 4
