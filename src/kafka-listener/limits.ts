/** How much the listener accepts and keeps. */
export const LIMITS = {
  connections: 500,
  /** The largest request. */
  frameBytes: 16 * 1024 * 1024,
  unauthenticatedFrameBytes: 64 * 1024,
  /** The largest answer, not counting its records. */
  answerBytes: 32 * 1024 * 1024,
  /** All requests that are being received, and all answers that clients have not read yet. */
  receivingBytes: 64 * 1024 * 1024,
  unsentBytes: 32 * 1024 * 1024,
  /** All groups and their members: ids, subscriptions, assignments. */
  groupBytes: 16 * 1024 * 1024,
  /** All offsets that groups have committed. */
  offsetBytes: 32 * 1024 * 1024,
  /** A client that reads nothing of its answer for this long is disconnected, or not all of it while others wait, */
  stalledMs: 30_000,
  /** one that has not finished the TLS handshake after this long, */
  handshakeMs: 10_000,
  /** one that is not authenticated, or has sent no request, after this long, */
  authenticationMs: 30_000,
  /** and one that asks for nothing. */
  idleMs: 600_000,
} as const

/** Bytes that connections share. */
export class SharedBytes {
  readonly #max: number
  #bytes = 0
  #room: PromiseWithResolvers<void> | undefined

  constructor(max: number) {
    this.#max = max
  }

  add(bytes: number): void {
    this.#bytes += bytes
    if (this.isFull) return
    this.#room?.resolve()
    this.#room = undefined
  }

  get isFull(): boolean {
    return this.#bytes >= this.#max
  }

  /** Resolves when there is room. */
  async room(): Promise<void> {
    while (this.isFull) await (this.#room ??= Promise.withResolvers()).promise
  }
}
