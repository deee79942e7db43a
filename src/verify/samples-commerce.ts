import { hexOf, iso, unix, type Samples } from "./sample-event.ts"

/** Of payments, shops and accounts. */
export const COMMERCE: Samples = {
  stripe: {
    body: (event) => ({
      id: `evt_sample${hexOf(event, 16)}`,
      object: "event",
      api_version: "2025-01-27.acacia",
      created: unix(event),
      type: "payment_intent.succeeded",
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: event.id },
      data: {
        object: {
          id: `pi_sample${hexOf(event, 16)}`,
          object: "payment_intent",
          amount: 1000 + event.number,
          currency: "eur",
          status: "succeeded",
          description: `Sample payment ${event.number}`,
          metadata: {},
        },
      },
    }),
  },
  shopify: {
    headers: ({ id }) => ({
      "X-Shopify-Topic": "orders/create",
      "X-Shopify-Shop-Domain": "sample.myshopify.com",
      "X-Shopify-Webhook-Id": id,
    }),
    body: (event) => ({
      id: 820000000000 + event.number,
      name: `#${1000 + event.number}`,
      email: "buyer@example.com",
      created_at: iso(event),
      currency: "EUR",
      total_price: "19.90",
      financial_status: "paid",
      test: true,
      line_items: [
        { id: event.number, title: "Sample article", quantity: 1, price: "19.90", sku: "SAMPLE-1" },
      ],
      customer: { id: 1, email: "buyer@example.com", first_name: "Sample", last_name: "Buyer" },
    }),
  },
  woocommerce: {
    headers: ({ id, number }) => ({
      "X-WC-Webhook-Topic": "order.created",
      "X-WC-Webhook-Resource": "order",
      "X-WC-Webhook-Event": "created",
      "X-WC-Webhook-Delivery-ID": id,
      "X-WC-Webhook-ID": String(number),
    }),
    body: (event) => ({
      id: event.number,
      number: String(event.number),
      status: "processing",
      currency: "EUR",
      date_created_gmt: iso(event).slice(0, 19),
      total: "19.90",
      line_items: [{ id: event.number, name: "Sample article", quantity: 1, total: "19.90" }],
    }),
  },
  square: {
    body: (event) => ({
      merchant_id: "SAMPLEMERCHANT",
      type: "payment.updated",
      event_id: event.id,
      created_at: iso(event),
      data: {
        type: "payment",
        id: `sample-${event.number}`,
        object: {
          payment: { id: `sample-${event.number}`, amount_money: { amount: 1990, currency: "EUR" } },
        },
      },
    }),
  },
  adyen: {
    body: (event) => ({
      live: "false",
      notificationItems: [
        {
          NotificationRequestItem: {
            eventCode: "AUTHORISATION",
            eventDate: iso(event),
            merchantAccountCode: "SampleMerchant",
            merchantReference: `sample-${event.number}`,
            pspReference: `SAMPLE${hexOf(event, 10).toUpperCase()}`,
            amount: { currency: "EUR", value: 1990 },
            success: "true",
            additionalData: {},
          },
        },
      ],
    }),
  },
  paddle: {
    body: (event) => ({
      event_id: `evt_${hexOf(event, 26)}`,
      event_type: "transaction.completed",
      occurred_at: iso(event),
      notification_id: `ntf_${hexOf(event, 26)}`,
      data: { id: `txn_${hexOf(event, 26)}`, status: "completed", currency_code: "EUR" },
    }),
  },
  razorpay: {
    headers: ({ id }) => ({ "X-Razorpay-Event-Id": id }),
    body: (event) => ({
      entity: "event",
      account_id: "acc_sample",
      event: "payment.captured",
      contains: ["payment"],
      payload: { payment: { entity: { id: `pay_${hexOf(event, 14)}`, amount: 1990, currency: "INR" } } },
      created_at: unix(event),
    }),
  },
  gocardless: {
    body: (event) => ({
      events: [
        {
          id: `EV${hexOf(event, 12)}`,
          created_at: iso(event),
          resource_type: "payments",
          action: "confirmed",
          links: { payment: `PM${hexOf(event, 12)}` },
        },
      ],
    }),
  },
  hubspot: {
    body: (event) => [
      {
        eventId: event.number,
        subscriptionType: "contact.creation",
        portalId: 1,
        objectId: event.number,
        occurredAt: event.atMs,
        attemptNumber: 0,
      },
    ],
  },
}
