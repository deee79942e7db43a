/** A request that a Receiver got. */
export interface Received {
  readonly partition: number
  readonly offset: number
  readonly body: Buffer
  readonly headers: Headers
}

type Answer = (received: Received) => Response | Promise<Response>

const OK: Answer = () => new Response()

/** A webhook receiver that keeps what is posted to it, and can be down: then its port refuses connections. */
export class Receiver implements AsyncDisposable {
  readonly all: Received[] = []
  answer: Answer
  readonly url: string
  #server: Bun.Server<undefined> | undefined
  readonly #port: number
  #changed = Promise.withResolvers<void>()

  constructor(answer: Answer = OK) {
    this.answer = answer
    this.#server = this.#serve(0)
    this.#port = this.#server.port!
    this.url = `http://127.0.0.1:${this.#port}/hook`
  }

  get offsets(): number[] {
    return this.all.map(({ offset }) => offset)
  }

  /** Resolves when so many requests have come. */
  async count(count: number): Promise<void> {
    while (this.all.length < count) await this.#changed.promise
  }

  /** Resolves when the record of this offset, or a later one, is the last that has come. */
  async reached(offset: number): Promise<void> {
    while ((this.all.at(-1)?.offset ?? -1) < offset) await this.#changed.promise
  }

  /** Resolves when the record of this offset is the last that has come. It never resolves if another one follows at once. */
  async offset(offset: number): Promise<void> {
    while (this.all.at(-1)?.offset !== offset) await this.#changed.promise
  }

  /** Ends connections, and takes no more. */
  async down(): Promise<void> {
    await this.#server?.stop(true)
    this.#server = undefined
  }

  up(): void {
    this.#server ??= this.#serve(this.#port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down()
  }

  #serve(port: number): Bun.Server<undefined> {
    return Bun.serve({
      hostname: "127.0.0.1",
      port,
      fetch: async (request) => {
        const { headers } = request
        const body = Buffer.from(await request.arrayBuffer())
        const numberIn = (name: string): number => Number(headers.get(name) ?? Number.NaN)
        const received = {
          partition: numberIn("hookline-partition"),
          offset: numberIn("hookline-offset"),
          body,
          headers,
        }
        this.all.push(received)
        this.#changed.resolve()
        this.#changed = Promise.withResolvers()
        return this.answer(received)
      },
    })
  }
}
