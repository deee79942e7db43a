import { createHmac } from "node:crypto"

/** The header that Stripe signs a body with: https://docs.stripe.com/webhooks/signature */
export function stripeHeaders(body: string, secret: string): { "Stripe-Signature": string } {
  const now = Math.floor(Date.now() / 1000)
  const signature = createHmac("sha256", secret).update(`${now}.${body}`).digest("hex")
  return { "Stripe-Signature": `t=${now},v1=${signature}` }
}
