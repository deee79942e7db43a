import { Answered, Rejected, type Event } from "../event.ts"
import type { Handshake, HandshakeMeans } from "./handshakes.ts"
import { member, readJson } from "./json-body.ts"

export const isForm = ({ request }: Event): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(request.headers.get("Content-Type") ?? "")

/** Longer than any verification request of Notion's, which has its token alone; events are not parsed for it. */
const NOTION_TOKEN_BYTES = 512

/** What a provider may make up as a secret. */
const SECRET = /^[\x21-\x7e]{16,256}$/

/**
 * Asana's first request names the secret of those to come.
 *
 * @see https://developers.asana.com/docs/webhooks-guide#the-webhook-handshake
 */
export function asana({ learn }: HandshakeMeans): Handshake {
  return {
    unsigned({ request }) {
      const secret = request.headers.get("X-Hook-Secret")
      if (secret === null) return undefined
      if (SECRET.test(secret) && learn(secret))
        return new Answered("asana_hook_secret", { headers: { "X-Hook-Secret": secret } })
      return new Rejected(401, "secret_known", "The request could not be verified.", {
        logDetail: "a secret is known already, or there is no secret_file to keep one in",
        headers: { "WWW-Authenticate": 'Signature realm="webhooks"' },
      })
    },
  }
}

/**
 * Notion's first request has the token that signs those to come; its owner has to enter it at Notion.
 *
 * @see https://developers.notion.com/reference/webhooks#step-2-verifying-the-subscription
 */
export function notion({ learn }: HandshakeMeans): Handshake {
  return {
    unsigned({ body }) {
      if (body.length > NOTION_TOKEN_BYTES) return undefined
      const token = member(readJson(body), "verification_token")
      return typeof token === "string" && SECRET.test(token) && learn(token)
        ? new Answered("notion_verification_token")
        : undefined
    },
  }
}

/**
 * WooCommerce pings a webhook when it is made, with its number in a form and no signature.
 *
 * @see https://github.com/woocommerce/woocommerce/blob/trunk/plugins/woocommerce/includes/class-wc-webhook.php
 */
export function wooCommerce(): Handshake {
  return {
    unsigned: (event) =>
      event.body.length < 64 && /^webhook_id=\d+$/.test(Buffer.from(event.body).toString())
        ? new Answered("woocommerce_ping")
        : undefined,
  }
}
