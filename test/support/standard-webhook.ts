import { Webhook } from "standardwebhooks"

/** The secret of a sender of Standard Webhooks. */
export const WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/** The headers of its event with this id. */
export function signedAs(id: string, body: string): { readonly [header: string]: string } {
  const now = new Date()
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(WHSEC).sign(id, now, body),
  }
}
