import { ed25519Signature, rsaSignature } from "../../schemes/asymmetric.ts"
import { jwt } from "../../schemes/jwt.ts"
import { basic, tokenIn } from "../../schemes/token.ts"
import { MINUTES, SECONDS } from "../delivery-facts.ts"
import type { Preset } from "../preset.ts"

/** Senders with public keys, JSON Web Tokens, tokens and passwords. */
export const TOKENS_AND_KEYS: { readonly [name: string]: Preset } = {
  // ---- Public keys
  telnyx: {
    title: "Telnyx",
    scheme: ed25519Signature({
      header: "telnyx-signature-ed25519",
      encoding: "base64",
      payload: "{timestamp}|{body}",
      time: { header: "telnyx-timestamp", unit: "s" },
      toleranceMs: 5 * MINUTES,
    }),
    docs: "https://developers.telnyx.com/docs/messaging/messages/receiving-webhooks",
    event: { id: "json:/data/id", type: "json:/data/event_type", time: "json:/data/occurred_at" },
    note: "public_key is the account's, in base64, on the portal's page of keys.",
  },
  wise: {
    title: "Wise",
    scheme: rsaSignature({ header: "X-Signature-SHA256", encoding: "base64" }),
    docs: "https://docs.wise.com/guides/developer/webhooks/event-handling",
    event: {
      id: "header:X-Delivery-Id",
      type: "json:/event_type",
      time: ["json:/sent_at", "json:/data/occurred_at"],
    },
    note: "public_key is Wise's, in PEM, which differs between production and sandbox.",
  },

  // ---- JSON Web Tokens
  livekit: {
    title: "LiveKit",
    scheme: jwt({
      header: "Authorization",
      algorithms: ["HS256"],
      bodyHash: { claim: "sha256", encoding: "base64" },
      toleranceMs: 10 * SECONDS,
      requiresExp: true,
      requires: [["secret"]],
      optional: ["issuer"],
    }),
    docs: "https://docs.livekit.io/home/server/webhooks/",
    event: { id: "json:/id", type: "json:/event", time: "json:/createdAt" },
    note: "The secret is the API's secret, issuer its key.",
  },
  monday: {
    title: "monday.com",
    scheme: jwt({
      header: "Authorization",
      algorithms: ["HS256"],
      toleranceMs: MINUTES,
      requiresExp: true,
      requires: [["secret"]],
      optional: ["audience"],
    }),
    docs: "https://developer.monday.com/apps/docs/integration-authorization",
    event: { type: "json:/event/type", time: "json:/event/triggerTime" },
    note: "Of webhooks that an app creates, whose signing secret it is; others have no token. The token covers neither body nor path: audience is the URL that the app names.",
    toleranceIsOurs: true,
  },

  // ---- Tokens and passwords, which do not cover the body
  mailchimp: {
    title: "Mailchimp (audiences)",
    scheme: tokenIn("Authorization", { requires: [["secret", "query"]] }),
    docs: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
    event: { type: "json:/type", time: "json:/fired_at" },
    note: "Mailchimp does not sign: put a secret into the URL's query, whose name is query.",
    body: {
      format: "form",
      docs: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
    },
  },
  pipedrive: {
    title: "Pipedrive",
    scheme: basic(),
    docs: "https://pipedrive.readme.io/docs/guide-for-webhooks-v2",
    event: {
      id: "json:/meta/id",
      type: "json:/meta/action",
      time: "json:/meta/timestamp",
      source: "json:/meta/company_id",
    },
    note: "Pipedrive does not sign: set HTTP Auth username and password of the webhook.",
  },
  auth0: {
    title: "Auth0 log streams",
    scheme: tokenIn("Authorization"),
    docs: "https://auth0.com/docs/customize/log-streams/custom-log-streams",
    event: {
      id: "json:/log_id",
      type: "json:/data/type",
      time: "json:/data/date",
      source: "json:/data/tenant_name",
    },
    note: "The secret is the stream's authorization token, the whole value of the header. Choose JSON array as the content format: JSON lines are refused.",
    body: {
      format: "json",
      lists: "split",
      docs: "https://auth0.com/docs/customize/log-streams/custom-log-streams",
    },
  },
  figma: {
    title: "Figma",
    scheme: { token: { member: "passcode" } },
    docs: "https://developers.figma.com/docs/rest-api/webhooks-security",
    event: { type: "json:/event_type", time: "json:/timestamp", source: "json:/file_key" },
    note: "The secret is the webhook's passcode, which each event has in its body: it is published with it.",
  },
}
