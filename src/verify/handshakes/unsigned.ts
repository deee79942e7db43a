import type { Event } from "../../pipeline/event.ts"
import { Answered, Rejected } from "../../pipeline/outcome.ts"
import type { Handshake, HandshakeContext } from "./handshake.ts"
import { member, readJson } from "../schemes/json-body.ts"

export const isForm = ({ request }: Event): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(request.headers.get("Content-Type") ?? "")

/** Notion's verification request has only its token; longer bodies are events. */
const NOTION_TOKEN_BYTES = 512

/** The form of an issued secret. */
const SECRET = /^[\x21-\x7e]{16,256}$/

/**
 * Asana's first request has the secret of the following ones.
 *
 * @see https://developers.asana.com/docs/webhooks-guide#the-webhook-handshake
 */
export function asana({ learn }: HandshakeContext): Handshake {
  return {
    unsigned({ request }) {
      const secret = request.headers.get("X-Hook-Secret")
      if (secret === null) return undefined
      if (SECRET.test(secret) && learn(secret, request))
        return new Answered("asana_hook_secret", { headers: { "X-Hook-Secret": secret } })
      return new Rejected(401, "secret_known", "The request could not be verified.", {
        logDetail: "a secret is already known, or secret_file is not set",
        headers: { "WWW-Authenticate": 'Signature realm="webhooks"' },
      })
    },
  }
}

/**
 * Notion's first request has the token that signs the following ones; it must be entered at Notion.
 *
 * @see https://developers.notion.com/reference/webhooks#step-2-verifying-the-subscription
 */
export function notion({ learn }: HandshakeContext): Handshake {
  return {
    unsigned({ body, request }) {
      if (body.length > NOTION_TOKEN_BYTES) return undefined
      const token = member(readJson(body), "verification_token")
      return typeof token === "string" && SECRET.test(token) && learn(token, request)
        ? new Answered("notion_verification_token")
        : undefined
    },
  }
}

/**
 * WooCommerce sends an unsigned ping with the webhook's id at its creation.
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
