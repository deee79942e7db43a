import { steadyMs } from "../clock/clock.ts"
import { answer, type Serving } from "./apis/apis.ts"
import { NoAnswer, type BrokerAddress, type ServedBroker } from "./apis/context.ts"
import { Frames } from "./frames.ts"
import { LIMITS, type SharedBytes } from "./limits.ts"
import type { ClientAuthentication } from "./security/authentication.ts"
import type { SaslStep } from "./security/scram.ts"
import { Malformed } from "../kafka-protocol/byte-reader.ts"
import { TooLarge } from "../kafka-protocol/byte-writer.ts"

/*
 * A client's connection. One request is served at a time, and the next one once the answer to it was handed to the system:
 * what a client does not take is one answer at most. Meanwhile it may send a little ahead, then it is not read from.
 */

/** What a connection needs of its socket. */
export interface Socket {
  /** @returns how many of the bytes were taken; fewer than one: the socket is closed */
  write(bytes: Uint8Array): number
  pause(): void
  resume(): void
  /** Closes at once. */
  terminate(): void
}

/** Slows down guessing of passwords, by the address that guesses. */
export interface GuessLimit {
  /** Counts a wrong password. */
  count(address: string): void
  /** Seconds that the address has to wait before its next; 0: none. */
  wait(address: string): number
  /** @returns false, at once, while too many are delayed */
  delay(): Promise<boolean>
  /** Ends all delays. */
  close(): void
}

export interface ConnectionDependencies {
  readonly broker: ServedBroker
  readonly advertised: () => BrokerAddress
  readonly clientAddress: string
  readonly authentication: ClientAuthentication
  readonly guesses: GuessLimit
  readonly receiving: SharedBytes
  readonly unsent: SharedBytes
  /** A fault while a request was served. */
  readonly failed: (error: unknown) => void
  /** Why it was disconnected, for the log. */
  readonly refused: (reason: string) => void
}

/** Pause between a wrong password and its answer. */
const REFUSED_MS = 500
/** Sent ahead of the answer to an earlier request. */
const AHEAD_BYTES = 64 * 1024

export class ClientConnection {
  readonly #socket: Socket
  readonly #deps: ConnectionDependencies
  readonly #frames: Frames
  readonly #closed = new AbortController()
  #isServing = false
  #isPaused = false
  /** What is left of its answer, in parts; empty: all of it was sent. */
  #unsent: readonly Uint8Array[] = []
  #sent: (() => void) | undefined
  readonly #openedMs = steadyMs()
  #isSecure: boolean
  /** It was served a request and, where there are users, is one of them. */
  isKnown = false
  /** When it last received or sent something, by the steady clock. */
  #activeMs = this.#openedMs
  /** Since when it has an answer, and when it last took some of it. */
  #sendingMs = 0
  #takenMs = 0

  /** @param isSecure false: it has yet to finish a TLS handshake */
  constructor(socket: Socket, deps: ConnectionDependencies, isSecure = true) {
    this.#socket = socket
    this.#deps = deps
    this.#isSecure = isSecure
    const isDone = deps.authentication.state === "done"
    this.#frames = new Frames(isDone ? LIMITS.frameBytes : LIMITS.unauthenticatedFrameBytes)
  }

  secured(): void {
    this.#isSecure = true
  }

  makeRoom(): void {
    this.#refuse("another needs its place, and it has sent no request yet, or not authenticated")
  }

  received(chunk: Uint8Array): void {
    if (this.#closed.signal.aborted) return
    this.#activeMs = steadyMs()
    this.#frames.add(chunk)
    this.#deps.receiving.add(chunk.length)
    if (this.#isServing && !this.#isPaused && this.#frames.length > AHEAD_BYTES) {
      this.#isPaused = true
      this.#socket.pause()
    } else if (this.#deps.receiving.isFull) this.#refuse("clients send more than is taken at once")
    if (!this.#isServing) void this.#serve()
  }

  /** The socket takes more. */
  drained(): void {
    if (this.#unsent.length === 0) return
    let all = 0
    let isFull = false
    while (this.#unsent.length > 0 && !isFull) {
      const [part, ...others] = this.#unsent
      const taken = Math.max(0, this.#socket.write(part!))
      isFull = taken < part!.length
      this.#unsent = isFull ? [part!.subarray(taken), ...others] : others
      all += taken
    }
    if (all > 0) this.#takenMs = this.#activeMs = steadyMs()
    this.#deps.unsent.add(-all)
    if (!isFull) this.#sent?.()
  }

  closed(): void {
    if (this.#closed.signal.aborted) return
    this.#closed.abort()
    this.#deps.receiving.add(-this.#frames.length)
    this.#deps.unsent.add(-lengthOf(this.#unsent))
    this.#unsent = []
    this.#sent?.()
  }

  /** Disconnects a client that is stalled or idle, or that does not finish the handshake or authenticate. */
  check(nowMs: number): void {
    const { isKnown } = this
    if (this.#isStalled(nowMs)) this.#refuse("it does not take its answer")
    else if (!this.#isSecure && nowMs - this.#openedMs > LIMITS.handshakeMs)
      this.#refuse("it does not finish the TLS handshake")
    else if (!isKnown && nowMs - this.#openedMs > LIMITS.authenticationMs) this.#end()
    else if (!this.#isServing && nowMs - this.#activeMs > LIMITS.idleMs) this.#end()
  }

  /** A slow client is not, until others wait for the room that its answer takes. */
  #isStalled(nowMs: number): boolean {
    if (this.#unsent.length === 0) return false
    const sinceMs = this.#deps.unsent.isFull ? this.#sendingMs : this.#takenMs
    return nowMs - sinceMs > LIMITS.stalledMs
  }

  async #serve(): Promise<void> {
    this.#isServing = true
    const { signal } = this.#closed
    while (!signal.aborted) {
      const frame = this.#frames.next()
      if (frame === undefined) break
      if (frame === "too_large") {
        this.#refuse("it does not speak the Kafka protocol, or its request is too large")
        return
      }
      this.#deps.receiving.add(-4 - frame.length)
      await this.#deps.unsent.room()
      try {
        const { authentication, clientAddress, guesses } = this.#deps
        // a check of a password costs 2 ms
        if (authentication.state === "begun" && guesses.wait(clientAddress) > 0 && !(await guesses.delay()))
          return this.#refuse("too many wrong users or passwords came from its address")
        const response = authentication.expectsBare
          ? bareReply(authentication.take(frame))
          : await answer(frame, this.#serving(signal))
        const { state } = authentication
        this.isKnown = state === "done"
        if (state === "refused") {
          guesses.count(clientAddress)
          await Bun.sleep(REFUSED_MS)
        }
        await this.#send(response)
        if (state === "refused") return this.#refuse("its user or password is wrong")
        if (this.isKnown) this.#frames.maxBytes = LIMITS.frameBytes
      } catch (error) {
        const hasReason = error instanceof TooLarge || error instanceof NoAnswer
        if (!hasReason && !(error instanceof Malformed)) this.#deps.failed(error)
        this.#refuse(hasReason ? error.message : "it does not speak the Kafka protocol")
        return
      }
    }
    this.#isServing = false
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket.resume()
  }

  #serving(signal: AbortSignal): Serving {
    const { broker, advertised, clientAddress, authentication, failed } = this.#deps
    const clientHost = `/${clientAddress}`
    return { ...broker, advertised: advertised(), clientHost, authentication, failed, signal }
  }

  /** Resolves when the system has all of it, or the connection is closed. */
  async #send(response: readonly Uint8Array[]): Promise<void> {
    const bytes = lengthOf(response)
    if (this.#closed.signal.aborted || bytes === 0) return
    this.#activeMs = this.#sendingMs = this.#takenMs = steadyMs()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#unsent = response
    this.#sent = resolve
    this.#deps.unsent.add(bytes)
    this.drained()
    await promise
  }

  #refuse(reason: string): void {
    if (this.#closed.signal.aborted) return
    this.#deps.refused(reason)
    this.#end()
  }

  #end(): void {
    this.closed()
    this.#socket.terminate()
  }
}

/** Where it is refused, the end of the connection is the answer. */
function bareReply(step: SaslStep): readonly Buffer[] {
  if (step === "refused") return []
  const response = Buffer.alloc(4 + step.reply.length)
  response.writeInt32BE(step.reply.length)
  response.set(step.reply, 4)
  return [response]
}

const lengthOf = (parts: readonly Uint8Array[]): number => parts.reduce((sum, { length }) => sum + length, 0)
