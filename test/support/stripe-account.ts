import schemas from "./openapi/stripe.json" with { type: "json" }
import { checkBy } from "./openapi-schema.ts"
import { stripeSignature } from "./stripe-events.ts"

export const STRIPE_KEY = "rk_obviously_fake"
export const STRIPE_SECRET = "whsec_obviously_fake"
export const STRIPE_TYPES = ["charge.succeeded", "invoice.paid"]

const checkedQuery = checkBy("Stripe", schemas["parameters GET /v1/events"])
const checkedList = checkBy("Stripe", schemas["GET /v1/events"])

interface Event {
  readonly id: string
  readonly type: string
  readonly created: number
  /** Number of endpoints that have not accepted it. */
  pending: number
}

/**
 * A Stripe account: delivers events to one endpoint, signed, and has the request that lists them. Its
 * requests and answers are checked against Stripe's OpenAPI document.
 */
export class StripeAccount implements AsyncDisposable {
  readonly api: string
  readonly url: string
  /** How long ago its events were created. */
  readonly #agoS: number
  /** In order of creation. */
  readonly #events: Event[] = []
  readonly #server: Bun.Server<undefined>

  constructor(url: string, agoS: number) {
    this.url = url
    this.#agoS = agoS
    this.#server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.#serve(request) })
    this.api = `http://127.0.0.1:${this.#server.port}`
  }

  /** Creates an event and delivers it. @returns the status; 0: no answer */
  send(id: string, type = STRIPE_TYPES[0]!): Promise<number> {
    this.#events.push({ id, type, created: Math.floor(Date.now() / 1000) - this.#agoS, pending: 1 })
    return this.deliver(id)
  }

  /** Delivers an event, or redelivers it. @returns the status; 0: no answer */
  async deliver(id: string): Promise<number> {
    const event = this.#events.find((it) => it.id === id)!
    const payload = JSON.stringify(shown(event))
    const signature = stripeSignature(STRIPE_SECRET, payload)
    const headers = { "Content-Type": "application/json", "Stripe-Signature": signature }
    const status = await fetch(this.url, { method: "POST", headers, body: payload }).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) event.pending = 0
    return status
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }

  #serve(request: Request): Response {
    const { pathname, searchParams } = new URL(request.url)
    if (request.headers.get("authorization") !== `Bearer ${STRIPE_KEY}`)
      return Response.json({ error: { message: "Invalid API Key provided" } }, { status: 401 })
    if (pathname !== "/v1/events" || request.method !== "GET") return new Response(null, { status: 404 })
    const whole = (name: string): number | undefined =>
      searchParams.has(name) ? Number(searchParams.get(name)) : undefined
    const gte = whole("created[gte]")
    const types = searchParams.getAll("types[]")
    const query = {
      ...Object.fromEntries([...searchParams].filter(([name]) => !/\W/.test(name))),
      limit: whole("limit"),
      types,
      created: { gte },
    }
    checkedQuery(query)
    const newest = this.#events.toReversed()
    const after = newest.findIndex(({ id }) => id === searchParams.get("starting_after")) + 1
    const found = newest
      .slice(after)
      .filter(({ type, created }) => types.includes(type) && created >= (gte ?? 0))
    const data = found.slice(0, query.limit).map(shown)
    const answer = { object: "list", url: "/v1/events", has_more: found.length > data.length, data }
    return Response.json(checkedList(answer))
  }
}

const shown = ({ id, type, created, pending }: Event) => ({
  id,
  object: "event",
  api_version: "2026-08-26.dahlia",
  created,
  data: { object: { id: `ch_${id}`, object: "charge" } },
  livemode: false,
  pending_webhooks: pending,
  request: { id: null, idempotency_key: null },
  type,
})
