import { parseUrlencoded } from "../../forms/urlencoded.ts"
import type { Event } from "../../pipeline/event.ts"
import { Answered, Rejected } from "../../pipeline/outcome.ts"
import { isChallenge } from "../schemes/challenge.ts"
import { member } from "../schemes/json-body.ts"
import { readJson } from "../../json/read.ts"
import { echo, hasText, json } from "./answer.ts"
import type { Handshake, HandshakeContext, HandshakeAnswer } from "./handshake.ts"

/* Handshakes that are answered once the body is read: unsigned ones, then those of verified requests. */

const isForm = ({ request }: Event): boolean =>
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
        logDetail:
          "no further secret is accepted: set secret_file, and secret_count to the number of webhooks on this path",
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

/**
 * Slack: the signed challenge of the Events API, and the unsigned certificate check of a slash command's URL.
 *
 * @see https://docs.slack.dev/reference/events/url_verification
 * @see https://docs.slack.dev/interactivity/implementing-slash-commands
 * @see https://github.com/slackapi/bolt-js/blob/main/src/receivers/HTTPModuleFunctions.ts for what is not signed
 */
export function slack(): Handshake {
  return {
    unsigned: (event) => (isSslCheck(event) ? new Answered("slack_ssl_check") : undefined),
    verified(event) {
      if (!hasText(event, "url_verification")) return undefined
      const body = readJson(event.body)
      const challenge = member(body, "challenge")
      return member(body, "type") === "url_verification" && typeof challenge === "string"
        ? echo("slack_url_verification", challenge)
        : undefined
    },
  }
}

/** Longer bodies are events. */
const ECHOED_BYTES = 1024

/** An unsigned body of one member alone, which is echoed as JSON. */
export function echoOf(reason: string, name: string): Handshake {
  return {
    unsigned({ body }) {
      if (body.length > ECHOED_BYTES) return undefined
      const object = readJson(body)
      const value = member(object, name)
      return isChallenge(value) && Object.keys(object as object).length === 1
        ? json(reason, { [name]: value })
        : undefined
    },
  }
}

/** Front sends a challenge in a header of a signed request. */
export function front({ request }: Event): HandshakeAnswer {
  const challenge = request.headers.get("X-Front-Challenge")
  return isChallenge(challenge) ? json("front_challenge", { challenge }) : undefined
}

/**
 * Zoom validates an endpoint when it is added and every 72 hours. The secret that verified the request signs the answer, also
 * during rotation.
 *
 * @see https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint
 * @see https://github.com/zoom/webhook-sample
 */
export function zoom({ sign }: HandshakeContext): Handshake {
  return {
    verified(event, secret) {
      if (!hasText(event, "endpoint.url_validation")) return undefined
      const body = readJson(event.body)
      const plainToken = member(member(body, "payload"), "plainToken")
      if (member(body, "event") !== "endpoint.url_validation" || !isChallenge(plainToken)) return undefined
      return json("zoom_url_validation", { plainToken, encryptedToken: sign(plainToken, "hex", secret) })
    },
  }
}

/**
 * Twitch: recognised by the body alone, since the message type header is unsigned.
 *
 * @see https://dev.twitch.tv/docs/eventsub/handling-webhook-events/#responding-to-a-challenge-request
 * @see https://github.com/twitchdev/twitch-cli/blob/main/internal/events/verify/subscription_verify.go
 */
export function twitch(event: Event): HandshakeAnswer {
  if (!hasText(event, '"challenge"')) return undefined
  const body = readJson(event.body)
  const challenge = member(body, "challenge")
  return typeof challenge === "string" && member(body, "event") === undefined
    ? echo("twitch_challenge", challenge)
    : undefined
}

function isSslCheck(event: Event): boolean {
  if (!isForm(event) || !hasText(event, "ssl_check")) return false
  const fields = parseUrlencoded(event.body)
  return Array.isArray(fields) && fields.find(({ name }) => name === "ssl_check")?.value === "1"
}

/**
 * Discord: PING is type 1 of interactions, and type 0 of webhook events, whose type 1 is an event.
 *
 * @see https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint
 * @see https://docs.discord.com/developers/events/webhook-events#acknowledging-ping-requests
 */
export function discord(event: Event): HandshakeAnswer {
  const body = readJson(event.body)
  const type = member(body, "type")
  if (type === 0)
    return new Answered("discord_ping", { status: 204, headers: { "Content-Type": "application/json" } })
  return type === 1 && member(body, "event") === undefined ? json("discord_ping", { type: 1 }) : undefined
}

/** @see https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema */
export function eventGrid(event: Event): HandshakeAnswer {
  if (event.request.headers.get("aeg-event-type") !== "SubscriptionValidation") return undefined
  const events = readJson(event.body)
  const [first] = Array.isArray(events) ? (events as unknown[]) : []
  const code = member(member(first, "data"), "validationCode")
  return member(first, "eventType") === "Microsoft.EventGrid.SubscriptionValidationEvent" &&
    typeof code === "string"
    ? json("eventgrid_validation", { validationResponse: code })
    : undefined
}

/** Longer bodies have events. */
const XERO_INTENT_BYTES = 1024

/**
 * Xero's intent to receive: requests without events, some with wrong signatures.
 *
 * @see https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/#intent-to-receive
 */
export function xero(event: Event): HandshakeAnswer {
  if (event.body.length > XERO_INTENT_BYTES) return undefined
  const events = member(readJson(event.body), "events")
  return Array.isArray(events) && events.length === 0 ? new Answered("xero_intent_to_receive") : undefined
}
