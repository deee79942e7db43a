/** A body shaped after the event objects that Stripe documents (https://docs.stripe.com/api/events/object): about 1.1 KB. */
export const stripeShaped = JSON.stringify({
  id: "evt_1BenchHookline000000000001",
  object: "event",
  api_version: "2026-10-29",
  created: 1795190400,
  type: "invoice.payment_succeeded",
  livemode: false,
  pending_webhooks: 1,
  request: { id: "req_bench000000001", idempotency_key: "6f0b7c1e-0000-4000-8000-1d2e3f4a5b6c" },
  data: {
    object: {
      id: "in_1BenchHookline000000000001",
      object: "invoice",
      account_country: "DE",
      amount_due: 129900,
      amount_paid: 129900,
      amount_remaining: 0,
      attempt_count: 1,
      billing_reason: "subscription_cycle",
      collection_method: "charge_automatically",
      currency: "eur",
      customer: "cus_Bench0000000001",
      customer_email: "billing@example.com",
      description: "Monatliche Gebühr – November",
      lines: {
        object: "list",
        data: [
          { id: "il_0001", amount: 99900, currency: "eur", quantity: 1, price: "price_bench_base" },
          { id: "il_0002", amount: 30000, currency: "eur", quantity: 3, price: "price_bench_seat" },
        ],
        has_more: false,
      },
      metadata: { order: "2026-11-0042", region: "eu-central-1" },
      number: "BENCH-0042",
      paid: true,
      status: "paid",
      subtotal: 109159,
      tax: 20741,
      total: 129900,
      unit_price: 0.99,
    },
  },
})

/** Bodies by what the tables call their size. The larger ones are lists of such events, the smallest a bare notice. */
export const bodies = {
  "200 B": sized(200),
  "1.1 KB": stripeShaped,
  "16 KB": sized(16 * 1024),
  "256 KB": sized(256 * 1024),
} as const

export type BodySize = keyof typeof bodies

/** An object of exactly so many bytes, as far as they reach made of events. */
function sized(bytes: number): string {
  const events: string[] = []
  const body = (filler: string): string =>
    `{"id":"batch_0001","object":"list","events":[${events.join(",")}],"note":"${filler}"}`
  while (Buffer.byteLength(body("")) + Buffer.byteLength(stripeShaped) + 1 <= bytes) events.push(stripeShaped)
  return body("n".repeat(bytes - Buffer.byteLength(body(""))))
}
