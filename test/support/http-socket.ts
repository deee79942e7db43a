import { connect } from "node:net"

/** A TCP connection that says exactly what it is told to. */
export interface RawSocket extends Disposable {
  send(data: string | Uint8Array): void
  /** Closes the sending side only. */
  endSending(): void
  /** What came so far, a character a byte. */
  received(): string
  /** Resolves with what came as soon as it matches; rejects when the connection ends before. */
  until(pattern: RegExp): Promise<string>
  /** Resolves with what came when the other side has closed, however it did. */
  readonly ended: Promise<string>
}

export async function openSocket(port: number): Promise<RawSocket> {
  const socket = connect(port, "127.0.0.1")
  let text = ""
  const waiting = new Set<() => void>()
  const wake = (): void => waiting.forEach((check) => check())
  const end = Promise.withResolvers<string>()
  let closed = false
  const finish = (): void => {
    closed = true
    end.resolve(text)
    wake()
  }
  socket.on("data", (data) => {
    text += data.toString("latin1")
    wake()
  })
  socket.on("end", finish)
  socket.on("close", finish)
  const connected = Promise.withResolvers<void>()
  socket.on("connect", connected.resolve)
  // a reset is an end as well; before the connection it is a failure
  socket.on("error", connected.reject)
  await connected.promise

  return {
    send: (data) => void socket.write(data),
    endSending: () => void socket.end(),
    received: () => text,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (pattern.test(text)) resolve(text)
          else if (closed) reject(new Error(`the connection ended with ${JSON.stringify(text)}`))
          else return
          waiting.delete(check)
        }
        waiting.add(check)
        check()
      }),
    ended: end.promise,
    [Symbol.dispose]: () => socket.destroy(),
  }
}

/** A request's header section for POST /webhook and these header lines, with the empty line after it. */
export function post(...lines: readonly string[]): string {
  return ["POST /webhook HTTP/1.1", "Host: localhost", ...lines, "", ""].join("\r\n")
}
