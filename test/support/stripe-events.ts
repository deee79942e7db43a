import { createHmac } from "node:crypto"

/** Posts a body as Stripe signs it: https://docs.stripe.com/webhooks#verify-manually. `headers`: further ones. */
export function postAsStripe(
  url: string,
  secret: string,
  body: string,
  headers: { readonly [name: string]: string } = {},
): Promise<Response> {
  const at = Math.floor(Date.now() / 1000)
  const signature = createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")
  return fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "Stripe-Signature": `t=${at},v1=${signature}`,
      ...headers,
    },
    body,
  })
}
