import type { Random } from "../../support/random.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import { BEGINS_MS } from "../simulated-process.ts"
import type { World } from "../world.ts"

interface Delivery {
  readonly id: number
  readonly guid: string
  /** By the sender's clock, in milliseconds since 1970. */
  readonly atMs: number
  readonly status: number
  /** When the list has it. */
  readonly listedAtMs: number
}

/** An event that was sent, and what became of it. */
export interface Sent {
  readonly guid: string
  readonly firstMs: number
  /** What the front door answers it always: a refusal for good, or a fault. */
  readonly answer: 400 | 500 | undefined
  /** How often the sender delivers it again by itself. */
  retries: number
  /** Redeliveries that the API was asked for, and when the last one, in milliseconds since the world began. */
  asked: number
  askedAtMs: number
  /** Requests for a redelivery that were neither received nor answered. */
  unanswered: number
}

export interface SenderSettings {
  /** The sender's time of day, less this machine's. */
  readonly aheadMs: number
  readonly pageSize: number
  /** How many API requests in a hundred fail, and how many for a redelivery are answered 403. */
  readonly failing: number
  readonly forbidden: number
  /** How many deliveries in a hundred are listed late, or twice. */
  readonly lateListings: number
  readonly latencyMs: number
  /** How often it delivers an event again by itself. */
  readonly retries: number
  /** How long its API is down at first. */
  readonly downMs: number
}

/** A webhook's body. */
export const bodyOf = ({ guid, answer }: Pick<Sent, "guid" | "answer">): string =>
  JSON.stringify({ id: guid, answer })

const SILENT_MS = 300
const REFUSED = Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" })
/** How long the cursor of a page is valid. */
const CURSOR_MS = 500

/**
 * A sender as GitHub is: it delivers an event once, whatever the answer, lists its deliveries, the newest first, and repeats
 * one when it is asked. Its API fails in all ways, and is down at times.
 */
export class Sender {
  readonly sent = new Map<string, Sent>()
  readonly settings: SenderSettings
  isDown = false
  isWell = false
  /** Delivers to the front door. @param answered called with the status; 0: no answer */
  deliver: (event: Sent, answered: (status: number) => void) => void = (_, answered) => answered(0)
  /** A redelivery was asked for. */
  asked: (event: Sent) => void = () => {}
  readonly #world: World
  readonly #random: Random
  #deliveries: Delivery[] = []

  constructor(world: World, settings: SenderSettings) {
    this.#world = world
    this.#random = world.randomOf("sender")
    this.settings = settings
  }

  /** Its time of day, in milliseconds since 1970. */
  get nowMs(): number {
    return BEGINS_MS + this.#world.nowMs + this.settings.aheadMs
  }

  send(answer: Sent["answer"]): void {
    const guid = `event-${this.sent.size}`
    const event: Sent = {
      guid,
      firstMs: Math.floor(this.nowMs),
      answer,
      retries: this.settings.retries,
      asked: 0,
      askedAtMs: Number.NEGATIVE_INFINITY,
      unanswered: 0,
    }
    this.sent.set(guid, event)
    this.#deliver(event)
  }

  /** `fetch` in a process. */
  fetchIn =
    (process: SimulatedProcess) =>
    (url: string | URL, init: RequestInit = {}): Promise<Response> => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>()
      const world = this.#world
      const failure = this.#failure(init.method === "POST")
      const answered = (answer: () => void, ms = 1 + this.#random.below(5)): void => {
        process.run(answer, ms)
      }
      world.after(1 + this.#random.below(5), () => {
        if (failure === "refused connection") return answered(() => reject(REFUSED))
        if (failure === "silent" || failure === "lost answer") {
          if (failure === "lost answer") this.#serve(new URL(url), init)
          else if (init.method === "POST") this.#eventOf(new URL(url)).unanswered++
          return answered(() => reject(new DOMException("late", "TimeoutError")), SILENT_MS)
        }
        const answer = failure === undefined ? this.#serve(new URL(url), init) : failure
        answered(() => resolve(answer))
      })
      return promise
    }

  #failure(isPost: boolean): Response | "silent" | "lost answer" | "refused connection" | undefined {
    if (this.isWell) return undefined
    if (this.isDown || this.#world.nowMs < this.settings.downMs)
      return this.#random.pick(["silent", "refused connection", this.#answer(undefined, 503)])
    if (isPost && this.#random.below(100) < this.settings.forbidden) return this.#answer(undefined, 403)
    if (this.#random.below(100) >= this.settings.failing) return undefined
    return this.#random.pick([
      "silent",
      "lost answer",
      "refused connection",
      this.#answer(undefined, 500),
      this.#answer(undefined, 429, { "Retry-After": "0" }),
      ...(isPost ? [] : [this.#answer(undefined, 422)]),
    ])
  }

  #deliver(event: Sent): void {
    const atMs = Math.floor(this.nowMs)
    this.deliver(event, (status) => {
      this.#list(event, atMs, status)
      if (status !== 0 && status < 500) return
      if (event.retries-- > 0) this.#world.after(50 + this.#random.below(500), () => this.#deliver(event))
    })
  }

  #list({ guid }: Sent, atMs: number, status: number): void {
    const isLate = this.#random.below(100) < this.settings.lateListings
    const lateMs = isLate ? this.#random.below(8 * this.settings.latencyMs) : 0
    const listedAtMs = this.#world.nowMs + lateMs
    this.#deliveries.push({ id: 1000 + this.#deliveries.length, guid, atMs, status, listedAtMs })
    this.#world.tell("sender", `${guid} got ${status}${lateMs === 0 ? "" : `, listed ${lateMs} ms later`}`)
  }

  /** The event that a redelivery is asked for of. */
  #eventOf({ pathname }: URL): Sent {
    const [, id] = /\/deliveries\/(\d+)\/attempts$/.exec(pathname)!
    return this.sent.get(this.#deliveries.find((it) => it.id === Number(id))!.guid)!
  }

  #serve(url: URL, { method = "GET" }: RequestInit): Response {
    const { pathname, searchParams } = url
    if (method === "POST") {
      const event = this.#eventOf(url)
      this.asked(event)
      event.asked++
      event.askedAtMs = this.#world.nowMs
      // it may come before the list has it, or after
      this.#world.after(this.#random.below(20), () => this.#deliver(event))
      return this.#answer({}, 202)
    }
    if (!pathname.endsWith("/deliveries"))
      return this.#answer({ active: true, events: ["push"], config: { url: "https://hooks.example/" } })
    const [before = Number.POSITIVE_INFINITY, begunMs = this.#world.nowMs] =
      searchParams.get("cursor")?.split("-").map(Number) ?? []
    if (this.#world.nowMs - begunMs > CURSOR_MS) return this.#answer(undefined, 422)
    const listed = this.#deliveries
      .filter(({ id: one, listedAtMs }) => one < before && listedAtMs <= this.#world.nowMs)
      .toReversed()
    const page = listed.slice(0, this.settings.pageSize)
    const items = page.flatMap((it) =>
      this.#random.below(100) < this.settings.lateListings ? [it, it] : [it],
    )
    const next = `https://api.github.com/repos/a/b/hooks/7/deliveries?cursor=${page.at(-1)?.id}-${begunMs}`
    return this.#answer(
      items.map(({ id: one, guid, atMs, status }) => ({
        event: JSON.parse(bodyOf(this.sent.get(guid)!)) as unknown,
        id: one,
        guid,
        delivered_at: new Date(atMs).toISOString(),
        status_code: status === 0 ? 502 : status,
      })),
      200,
      listed.length > page.length ? { Link: `<${next}>; rel="next"` } : {},
    )
  }

  /** What of a Response is read, without a stream of the real event loop. */
  #answer(value: unknown, status = 200, headers: { [name: string]: string } = {}): Response {
    const date = new Date(this.nowMs).toUTCString()
    const body = value === undefined ? [] : [Buffer.from(JSON.stringify(value))]
    return { status, headers: new Headers({ Date: date, ...headers }), body } as unknown as Response
  }
}
