import { kafkaToolsClassPath } from "./kafka-jars.ts"
import { endingWithThisProcess, runToEnd, type Ended } from "./child.ts"
import type { LogLine, Started } from "./hookline.ts"
import { HANG_MS } from "./hang.ts"

/** A log that Kafka clients read, by these keys of its connection, and the pipeline that publishes to it by these of its sink. */
export const readableLog = (
  keys = "kafka_listen = 127.0.0.1:0",
  { source = "", sink = "key = json:/id" } = {},
): string => `[connection:log]
directory = log
${keys}
[pipeline:webhooks:WebHookSource]
path = /webhooks
${source}
[pipeline:webhooks:BrokerSink]
topic = webhooks
${sink}
`

/** Where a Hookline listens for Kafka clients, once it does. */
export async function kafkaAddressOf(running: Started): Promise<string> {
  const line = await running.logged(isListening)
  return line["address"] as string
}

export const isListening = ({ msg }: LogLine): boolean => msg === "listening for Kafka clients"

/** Runs kcat to its end. */
export const kcat = (address: string, ...args: readonly string[]): Promise<Ended> =>
  runToEnd(endingWithThisProcess("kcat", "-q", "-b", address, ...args), { timeout: HANG_MS })

/** Runs one of Apache Kafka's command line tools to its end, by the name of its class in org.apache.kafka.tools. */
export async function kafkaTool(name: string, address: string, ...args: readonly string[]): Promise<Ended> {
  const found = await kafkaToolsClassPath()
  if ("missing" in found) throw new Error(found.missing)
  const java = ["java", "-XX:TieredStopAtLevel=1", "-cp", found.classPath]
  const command = [...java, `org.apache.kafka.tools.${name}`, "--bootstrap-server", address, ...args]
  const ended = await runToEnd(endingWithThisProcess(...command), { timeout: HANG_MS })
  // what log4j says of its own configuration
  return { ...ended, stdout: ended.stdout.replace(/^.*(?:StatusConsoleListener|SLF4J).*\n/gm, "") }
}

/** A client that sends frames of a test's own. */
export class RawKafkaClient implements AsyncDisposable {
  readonly #socket: Bun.Socket
  #received = Buffer.alloc(0)
  #changed = Promise.withResolvers<void>()
  isClosed = false

  private constructor(socket: Bun.Socket) {
    this.#socket = socket
  }

  /** @param ca PEM of the CA that signed the broker's certificate; undefined: no TLS */
  static async connect(address: string, ca?: string): Promise<RawKafkaClient> {
    const [hostname, port] = address.split(":") as [string, string]
    const made = Promise.withResolvers<RawKafkaClient>()
    let client: RawKafkaClient | undefined
    const ended = (error = new Error(`${address} closed the connection`)): void =>
      client === undefined ? made.reject(error) : client.#ended()
    await Bun.connect({
      hostname,
      port: Number(port),
      ...(ca !== undefined && { tls: { ca } }),
      socket: {
        open: (socket) => made.resolve((client = new RawKafkaClient(socket))),
        data: (_, bytes) => client!.#took(bytes),
        close: () => ended(),
        error: (_, error) => ended(error),
      },
    })
    return made.promise
  }

  send(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  /** Sends a request with a header of version 1 or, with flexible, 2. */
  request(
    { key, version, flexible = false }: { key: number; version: number; flexible?: boolean },
    correlationId: number,
    body: Uint8Array,
  ): void {
    const header = Buffer.alloc(14 + (flexible ? 1 : 0))
    header.writeInt32BE(header.length - 4 + body.length, 0)
    header.writeInt16BE(key, 4)
    header.writeInt16BE(version, 6)
    header.writeInt32BE(correlationId, 8)
    header.writeInt16BE(-1, 12)
    this.send(Buffer.concat([header, body]))
  }

  /** The next response without its length; undefined: the connection was closed before it. */
  async response(): Promise<Buffer | undefined> {
    for (;;) {
      const bytes = this.#received
      if (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
        const end = 4 + bytes.readInt32BE(0)
        this.#received = bytes.subarray(end)
        return bytes.subarray(4, end)
      }
      if (this.isClosed) return undefined
      await this.#changed.promise
    }
  }

  #took(bytes: Uint8Array): void {
    this.#received = Buffer.concat([this.#received, bytes])
    this.#wake()
  }

  #ended(): void {
    this.isClosed = true
    this.#wake()
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate()
  }
}

/** A consumer in a process of its own: the lines that it has written so far, and its end. */
export interface RunningConsumer extends AsyncDisposable {
  /** Resolves when what it has written to standard output or standard error matches. */
  said(pattern: RegExp): Promise<string>
  output(): string
  /** Ends it with a signal: SIGTERM leaves the group. */
  end(signal: NodeJS.Signals): Promise<void>
}

/** Starts a member that reads a topic from the beginning where its group has no offset; a key a line. */
export function joinWithKcat(
  address: string,
  group: string,
  topic: string,
  settings: { readonly [name: string]: string } = {},
): RunningConsumer {
  const all = { "auto.offset.reset": "earliest", "heartbeat.interval.ms": "100", ...settings }
  const args = Object.entries(all).flatMap(([name, value]) => ["-X", `${name}=${value}`])
  return startConsumer(["kcat", "-u", "-b", address, "-G", group, "-f", "key %k\n", ...args, topic])
}

export function startConsumer(
  command: readonly string[],
  env: { readonly [name: string]: string | undefined } = process.env,
): RunningConsumer {
  const child = Bun.spawn(endingWithThisProcess(...command), { env, stdout: "pipe", stderr: "pipe" })
  let output = ""
  let changed = Promise.withResolvers<void>()
  const wake = (): void => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  // whole lines of either stream: kcat writes one in several parts, and an error may come between two of them
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    let unread = ""
    for await (const bytes of stream) {
      unread += decoder.decode(bytes, { stream: true })
      const end = unread.lastIndexOf("\n") + 1
      output += unread.slice(0, end)
      unread = unread.slice(end)
      wake()
    }
    output += unread
  }
  let hasEnded = false
  const ended = (async () => {
    await Promise.all([read(child.stdout), read(child.stderr), child.exited])
    hasEnded = true
    wake()
  })()
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await ended
  }
  return {
    async said(pattern) {
      for (;;) {
        const found = pattern.exec(output)
        if (found !== null) return found[0]
        if (hasEnded) throw new Error(`${command[0]} ended before it said ${pattern}:\n${output}`)
        await changed.promise
      }
    },
    output: () => output,
    end,
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  }
}
