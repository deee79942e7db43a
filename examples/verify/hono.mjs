// Hono on Cloudflare Workers: src/index.js. One sender only, so that the Worker stays small.
import { Hono } from "hono"
import { verify } from "hookline/verify/hmac"
import { stripe } from "hookline/verify/senders"

const app = new Hono()

app.post("/webhooks/stripe", async (c) => {
  const result = await verify(c.req.raw, { sender: stripe, secret: c.env.STRIPE_WEBHOOK_SECRET })
  if (!result.isVerified) return c.body(null, result.status)
  const event = await c.req.json()
  return c.json({ received: event.id })
})

export default app
