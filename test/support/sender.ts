import { connect, type Socket } from "node:net"
import { connect as connectTls, type TLSSocket } from "node:tls"

/** A sender with one connection at a time, which never repeats a request and hides nothing that becomes of one. */
export class Sender implements Disposable {
  readonly #port: number
  readonly #isTls: boolean
  readonly #keepsAlive: boolean
  #socket: Socket | undefined

  /** @param options `keepsAlive`: whether it sends on the same connection until the server ends it */
  constructor(port: number, { isTls = false, keepsAlive = true } = {}) {
    this.#port = port
    this.#isTls = isTls
    this.#keepsAlive = keepsAlive
  }

  /**
   * Posts a body and waits for the answer.
   *
   * @returns its status and the name in the server's certificate
   * @throws when there is no answer
   */
  async post(
    path: string,
    body: string,
    headers: { readonly [name: string]: string } = {},
  ): Promise<{ status: number; certificate: string | undefined }> {
    const socket = (this.#socket ??= await this.#connect())
    const certificate = this.#isTls
      ? String((socket as TLSSocket).getPeerCertificate().subject.CN)
      : undefined
    const lines = Object.entries({
      Host: "localhost",
      "Content-Length": String(Buffer.byteLength(body)),
      Connection: this.#keepsAlive ? "keep-alive" : "close",
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`)
    const head = await answerOn(socket)
    if (!this.#keepsAlive || /^connection: close\r?$/im.test(head)) {
      socket.destroy()
      this.#socket = undefined
    }
    return { status: Number(head.split(" ")[1]), certificate }
  }

  [Symbol.dispose](): void {
    this.#socket?.destroy()
  }

  async #connect(): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const to = { port: this.#port, host: "127.0.0.1" }
    const socket = this.#isTls
      ? connectTls({ ...to, rejectUnauthorized: false }, resolve)
      : connect(to, resolve)
    socket.on("error", reject)
    await promise
    return socket
  }
}

/** Resolves with the header section when the whole answer is there. */
function answerOn(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ""
    const done = (settle: () => void): void => {
      socket.off("data", read)
      socket.off("close", ended)
      settle()
    }
    const read = (data: Buffer): void => {
      text += data.toString("latin1")
      const end = text.indexOf("\r\n\r\n")
      if (end === -1) return
      const head = text.slice(0, end)
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      if (text.length >= end + 4 + length) done(() => resolve(head))
    }
    const ended = (): void =>
      done(() => reject(new Error(`the connection ended with ${JSON.stringify(text)} for an answer`)))
    socket.on("data", read)
    socket.on("close", ended)
  })
}
