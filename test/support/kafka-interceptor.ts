import { connect, createServer, type AddressInfo, type Socket } from "node:net"
import {
  answerBody,
  answerTo,
  FrameSplitter,
  readRequest,
  withBody,
  type KafkaRequest,
} from "./kafka-frames.ts"

/** What becomes of a request. */
export type Handling =
  /** It passes as it is, and so does its answer. */
  | "pass"
  /** It is answered with this body, and the broker never sees it. */
  | { readonly answer: Buffer }
  /** It passes, with another body where one is given, and so does its answer, with the body that this makes of it. */
  | { readonly body?: Buffer; readonly change: (answer: Buffer) => Buffer }

/** A network between clients and one broker that sees the frames which pass, and may change them. */
export interface Interceptor extends AsyncDisposable {
  /** `host:port` where clients connect. */
  readonly address: string
  /** `host:port` of the broker; connections are refused until it is set. */
  target: string | undefined
  /** Decides on each request; all pass unless it is set. */
  handle: (request: KafkaRequest) => Handling
}

export async function openInterceptor(): Promise<Interceptor> {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    open.add(client)
    client.on("close", () => open.delete(client))
    client.on("error", () => client.destroy())
    if (interceptor.target === undefined) {
      client.destroy()
      return
    }
    const [host, port] = interceptor.target.split(":") as [string, string]
    const broker = connect(Number(port), host)
    broker.on("error", () => client.destroy())
    broker.on("close", () => client.destroy())
    client.on("close", () => broker.destroy())
    intercept(client, broker, (request) => interceptor.handle(request))
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const interceptor: Interceptor = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: undefined,
    handle: () => "pass",
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
  return interceptor
}

/** An answer that is owed to the client. */
interface Owed {
  readonly request: KafkaRequest
  /** Undefined: it is the broker's to answer. */
  readonly answer: Buffer | undefined
  readonly change: ((answer: Buffer) => Buffer) | undefined
}

/** Passes requests and answers; these in the order of the requests, as a broker does. */
function intercept(client: Socket, broker: Socket, handle: (request: KafkaRequest) => Handling): void {
  const requests = new FrameSplitter()
  const answers = new FrameSplitter()
  const owed: Owed[] = []
  const flush = (): void => {
    while (owed[0]?.answer !== undefined) client.write(owed.shift()!.answer!)
  }
  const take = (request: KafkaRequest): void => {
    const handling = handle(request)
    if (handling === "pass") {
      owed.push({ request, answer: undefined, change: undefined })
      broker.write(request.frame)
    } else if ("answer" in handling) {
      owed.push({ request, answer: answerTo(request, handling.answer), change: undefined })
      flush()
    } else {
      owed.push({ request, answer: undefined, change: handling.change })
      broker.write(handling.body === undefined ? request.frame : withBody(request, handling.body))
    }
  }
  client.on("data", (bytes: Buffer) => {
    for (const frame of requests.push(bytes)) take(readRequest(frame))
  })
  broker.on("data", (bytes: Buffer) => {
    for (const frame of answers.push(bytes)) {
      const { request, change } = owed.shift()!
      client.write(change === undefined ? frame : answerTo(request, change(answerBody(frame))))
      flush()
    }
  })
}
