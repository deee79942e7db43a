import { connect, type Socket } from "node:net"
import { HANG_MS } from "./hang.ts"

/** A status; `refused`: nobody listens, nothing was sent; `broken`: the connection ended before the whole answer. */
export type Answer = number | "refused" | "broken"

interface Given {
  /** After which a request without an answer is given up, and its connection closed. */
  readonly giveUpMs?: number
}

/**
 * A sender's kept-alive connection, opened anew when it has ended. Unlike fetch it never sends a request twice of its
 * own accord, so that a record that is there twice was doubled behind it.
 */
export class KeptConnection implements Disposable {
  readonly #host: string
  readonly #port: number
  readonly #path: string
  readonly #giveUpMs: number
  #socket: Socket | undefined

  constructor(url: string, { giveUpMs = HANG_MS }: Given = {}) {
    this.#giveUpMs = giveUpMs
    const { hostname, port, pathname } = new URL(url)
    // an IPv6 address has brackets in a URL
    this.#host = hostname.replace(/^\[|\]$/g, "")
    this.#port = Number(port)
    this.#path = pathname
  }

  /** Posts one body and waits for the answer. @param headers more lines of the header section */
  async post(body: string, headers: readonly string[] = []): Promise<Answer> {
    const socket = this.#socket ?? (await this.#open())
    if (socket === undefined) return "refused"
    const lines = [
      `POST ${this.#path} HTTP/1.1`,
      `Host: ${this.#host}:${this.#port}`,
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...headers,
    ]
    return this.#exchange(socket, `${lines.join("\r\n")}\r\n\r\n${body}`)
  }

  [Symbol.dispose](): void {
    this.#socket?.destroy()
  }

  #open(): Promise<Socket | undefined> {
    const { promise, resolve } = Promise.withResolvers<Socket | undefined>()
    const socket = connect(this.#port, this.#host)
    socket.on("connect", () => resolve((this.#socket = socket)))
    socket.on("error", () => socket.destroy())
    socket.on("close", () => {
      if (this.#socket === socket) this.#socket = undefined
      resolve(undefined)
    })
    return promise
  }

  #exchange(socket: Socket, request: string): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    let text = ""
    const broken = (): void => finish("broken")
    const finish = (answer: Answer): void => {
      clearTimeout(timer)
      socket.off("data", read).off("close", broken)
      resolve(answer)
    }
    const read = (bytes: Buffer): void => {
      text += bytes.toString("latin1")
      const status = wholeAnswer(text)
      if (status === undefined) return
      if (/^connection: close\r$/im.test(text)) this.#drop(socket)
      finish(status)
    }
    const timer = setTimeout(() => this.#drop(socket), this.#giveUpMs)
    socket.on("data", read).on("close", broken)
    socket.write(request)
    return promise
  }

  #drop(socket: Socket): void {
    this.#socket = undefined
    socket.destroy()
  }
}

/** The status of an answer that is all there, by its Content-Length. */
function wholeAnswer(text: string): number | undefined {
  const end = text.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const length = Number(/^content-length: (\d+)\r$/im.exec(text.slice(0, end + 1))?.[1] ?? 0)
  return text.length < end + 4 + length ? undefined : Number(text.slice(9, 12))
}
