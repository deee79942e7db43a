import { createHmac } from "node:crypto"

/** The header of a body that Stripe signs: https://docs.stripe.com/webhooks#verify-manually. */
export function stripeSignature(secret: string, body: string, atMs = Date.now()): string {
  const at = Math.floor(atMs / 1000)
  const signature = createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")
  return `t=${at},v1=${signature}`
}

/** Posts a body as Stripe signs it. `headers`: further ones. */
export function postAsStripe(
  url: string,
  secret: string,
  body: string,
  headers: { readonly [name: string]: string } = {},
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "Stripe-Signature": stripeSignature(secret, body),
      ...headers,
    },
    body,
  })
}
