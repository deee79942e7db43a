import { HooklineError } from "../errors.ts"
import { FrameCutter } from "./frame-cutter.ts"

/** Bytes of a frame before the kind's own, see frame-cutter.ts. */
export const FRAME_HEAD = 5
const KIND = 4

export interface WireEnds {
  /** A whole frame came, with its head. Its bytes are the receiver's to keep. */
  readonly frame: (frame: Buffer) => void
  /** The other process has ended, or let go. Nothing comes any more. */
  readonly closed: () => void
}

/** A socket between two processes on which whole frames go both ways. */
export class Wire {
  readonly #socket: Bun.Socket
  /** What the socket has not taken yet. */
  #unsent: Buffer[] = []
  #open = true

  private constructor(socket: Bun.Socket) {
    this.#socket = socket
  }

  /** @param fd a connected socket, which the wire then owns */
  static async open(fd: number, { frame, closed }: WireEnds): Promise<Wire> {
    let wire: Wire | undefined
    const frames = new FrameCutter(frame)
    const socket = await Bun.connect({
      fd,
      socket: {
        data: (_: unknown, bytes: Buffer) => frames.add(bytes),
        drain: () => {
          if (wire !== undefined) wire.#write()
        },
        close: () => {
          if (wire !== undefined) wire.#end()
          closed()
        },
        // what follows is close
        error: () => {},
      },
    } as unknown as Bun.UnixSocketOptions)
    wire = new Wire(socket)
    return wire
  }

  /** Sends a frame made by `newFrame`; on a wire that is closed it is thrown away. */
  send(frame: Buffer): void {
    if (!this.#open) return
    this.#unsent.push(frame)
    if (this.#unsent.length === 1) this.#write()
  }

  close(): void {
    this.#socket.end()
  }

  #end(): void {
    this.#open = false
    this.#unsent = []
  }

  #write(): void {
    let sent = 0
    for (; sent < this.#unsent.length; sent++) {
      const frame = this.#unsent[sent]!
      const written = this.#socket.write(frame)
      if (written === frame.length) continue
      if (written > 0) this.#unsent[sent] = frame.subarray(written)
      break
    }
    this.#unsent.splice(0, sent)
  }
}

/** A frame with room for so many bytes behind its head. */
export function newFrame(kind: number, bytes: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD + bytes)
  frame.writeUInt32LE(1 + bytes, 0)
  frame[KIND] = kind
  return frame
}

export const kindOf = (frame: Buffer): number => frame[KIND]!

/** A frame of plain data. */
export function dataFrame(kind: number, data: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(data))
  const frame = newFrame(kind, text.length)
  frame.set(text, FRAME_HEAD)
  return frame
}

export function dataOf<T>(frame: Buffer): T {
  return JSON.parse(frame.toString("utf8", FRAME_HEAD)) as T
}

/** For a frame of a kind that the receiver does not know. */
export const unknownFrame = (frame: Buffer): HooklineError =>
  new HooklineError("internal", `a frame of kind ${kindOf(frame)} is not known`)
