import { ByteReader } from "../src/kafka-listener/protocol/byte-reader.ts"
import { ByteWriter } from "../src/kafka-listener/protocol/byte-writer.ts"
import { readResponse, writeRequest } from "../test/support/kafka-messages.ts"
import { Fetch } from "../src/kafka-listener/protocol/messages.ts"
import { RawKafkaClient } from "../test/support/kafka-clients.ts"
import { recordsIn } from "./kafka.ts"

const VERSION = 4

interface Fetched {
  readonly responses: readonly [
    { readonly partitions: readonly [{ readonly errorCode: number; readonly records: Buffer | null }] },
  ]
}

/**
 * A consumer that follows partition 0 of a topic from its end and looks at no more than how many records there are: what it
 * takes is the broker's time, not its own.
 */
export class LogConsumer implements AsyncDisposable {
  readonly #client: RawKafkaClient
  readonly #topic: string
  #offset = 0
  #changed = Promise.withResolvers<void>()
  #problem: Error | undefined

  private constructor(client: RawKafkaClient, topic: string) {
    this.#client = client
    this.#topic = topic
  }

  static async open(address: string, topic: string): Promise<LogConsumer> {
    const consumer = new LogConsumer(await RawKafkaClient.connect(address), topic)
    consumer.#offset = await recordsIn({ bootstrapServers: [address] }, topic, 1)
    void consumer.#follow().catch((error: Error) => {
      consumer.#problem = error
      consumer.#changed.resolve()
    })
    return consumer
  }

  /** Behind the last record that it has. @throws Error if it could not follow to here */
  get offset(): number {
    if (this.#problem !== undefined) throw this.#problem
    return this.#offset
  }

  /** Resolves once it has the records before an offset. @throws as `offset` */
  async reached(offset: number): Promise<void> {
    while (this.offset < offset) await this.#changed.promise
  }

  async #follow(): Promise<void> {
    for (;;) {
      const partitions = [{ partition: 0, fetchOffset: this.#offset, partitionMaxBytes: 1024 * 1024 }]
      const topics = [{ topic: this.#topic, partitions }]
      const limits = { maxWaitMs: 500, minBytes: 1, maxBytes: 50 * 1024 * 1024 }
      const request = new ByteWriter()
      writeRequest(Fetch, VERSION, { ...limits, topics }, request)
      this.#client.request({ key: Fetch.key, version: VERSION }, 1, request.written())
      const response = await this.#client.response()
      if (response === undefined) return
      const fetched: object = readResponse(Fetch, VERSION, new ByteReader(response.subarray(4)))
      const { responses } = fetched as Fetched
      const [{ errorCode, records }] = responses[0].partitions
      if (errorCode !== 0) throw new Error(`fetching failed with error code ${errorCode}`)
      if (records === null || records.length === 0) continue
      this.#offset = endOf(records)
      this.#changed.resolve()
      this.#changed = Promise.withResolvers()
    }
  }

  /** @throws as `offset` */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
    void this.offset
  }
}

/** Behind the last whole record batch: its first offset, and how far behind it the last one is. */
function endOf(records: Buffer): number {
  let end = 0
  for (let at = 0; at + 27 <= records.length;) {
    const length = 12 + records.readInt32BE(at + 8)
    if (at + length > records.length) break
    end = Number(records.readBigInt64BE(at)) + records.readInt32BE(at + 23) + 1
    at += length
  }
  return end
}
