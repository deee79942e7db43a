import { MINUTES } from "../delivery-facts.ts"
import { likeStripe, type Preset } from "../preset.ts"

/** Senders that sign a time and the body by an HMAC. */
export const TIMED: { readonly [name: string]: Preset } = {
  klaviyo: {
    title: "Klaviyo",
    scheme: {
      hmac: {
        header: "Klaviyo-Signature",
        payload: "{body}{timestamp}",
        time: { header: "Klaviyo-Timestamp", unit: "any" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://developers.klaviyo.com/en/docs/working_with_system_webhooks",
    event: {
      time: "json:/meta/timestamp",
      source: "json:/meta/klaviyo_account_id",
      headers: ["Klaviyo-Webhook-Id"],
    },
    note: "An event has a batch of Klaviyo's in its member data.",
    toleranceIsOurs: true,
  },
  "customer-io": {
    title: "Customer.io",
    scheme: {
      hmac: {
        header: "X-CIO-Signature",
        payload: "v0:{timestamp}:{body}",
        time: { header: "X-CIO-Timestamp", unit: "s" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://docs.customer.io/integrations/api/webhooks",
    event: { id: "json:/event_id", type: "json:/metric", time: "json:/timestamp" },
    note: "Of reporting webhooks. Customer.io sends no further event while one fails, for up to 7 days.",
    toleranceIsOurs: true,
  },
  persona: {
    title: "Persona",
    scheme: likeStripe("Persona-Signature", 5 * MINUTES),
    docs: "https://docs.withpersona.com/docs/webhooks-best-practices",
    event: {
      id: "json:/data/id",
      type: "json:/data/attributes/name",
      time: "json:/data/attributes/created-at",
    },
    note: "While Persona rotates a secret, set the old and the new one.",
    toleranceIsOurs: true,
  },
  elevenlabs: {
    title: "ElevenLabs",
    scheme: likeStripe("ElevenLabs-Signature", 30 * MINUTES, { prefix: "v0=" }),
    docs: "https://elevenlabs.io/docs/eleven-api/resources/webhooks",
    event: { type: "json:/type", time: "json:/event_timestamp" },
  },
  revenuecat: {
    title: "RevenueCat",
    scheme: likeStripe("X-RevenueCat-Webhook-Signature", 5 * MINUTES),
    docs: "https://www.revenuecat.com/docs/integrations/webhooks",
    event: {
      id: "json:/event/id",
      type: "json:/event/type",
      time: "json:/event/event_timestamp_ms",
      source: "json:/event/app_id",
    },
    note: "Of webhooks with a signing secret. For the authorization header alone set provider = token and header = Authorization.",
    toleranceIsOurs: true,
  },
  recurly: {
    title: "Recurly",
    scheme: {
      hmac: {
        header: "recurly-signature",
        list: ",",
        payload: "{timestamp}.{body}",
        time: { item: "", unit: "any" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://docs.recurly.com/recurly-subscriptions/docs/signature-verification",
    event: { type: "json:/event_type", time: "json:/event_time", source: "json:/site_id" },
    note: "JSON webhooks are signed, XML ones are not.",
  },
  front: {
    title: "Front",
    scheme: {
      hmac: {
        header: "X-Front-Signature",
        encoding: "base64",
        payload: "{timestamp}:{body}",
        time: { header: "X-Front-Request-Timestamp", unit: "ms" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://dev.frontapp.com/docs/application-webhooks",
    event: { type: "json:/type" },
    note: "Of application webhooks; rule webhooks sign by SHA-1, without a time.",
  },
  airwallex: {
    title: "Airwallex",
    scheme: {
      hmac: {
        header: "x-signature",
        payload: "{timestamp}{body}",
        time: { header: "x-timestamp", unit: "ms" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://www.airwallex.com/docs/developer-tools__listen-for-webhook-events",
    event: { id: "json:/id", type: "json:/name", time: "json:/created_at", source: "json:/account_id" },
    toleranceIsOurs: true,
  },
  revolut: {
    title: "Revolut",
    scheme: {
      hmac: {
        header: "Revolut-Signature",
        list: ",",
        prefix: "v1=",
        payload: "v1.{timestamp}.{body}",
        time: { header: "Revolut-Request-Timestamp", unit: "ms" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://developer.revolut.com/docs/guides/manage-accounts/webhooks/verify-the-payload-signature",
    event: { type: "json:/event", time: "json:/timestamp" },
    note: "Revolut Business; webhooks of merchants have no timestamp in the body. While a secret rotates, Revolut signs with both.",
  },
  buildkite: {
    title: "Buildkite",
    scheme: likeStripe("X-Buildkite-Signature", 5 * MINUTES, {
      prefix: "signature=",
      time: { item: "timestamp=", unit: "s" },
    }),
    docs: "https://buildkite.com/docs/apis/webhooks/pipelines#webhook-signature",
    event: { type: ["header:X-Buildkite-Event", "json:/event"] },
    note: "Choose the HMAC signature in the webhook's settings, in place of the token in plain text.",
    toleranceIsOurs: true,
  },
  tiktok: {
    title: "TikTok",
    scheme: likeStripe("TikTok-Signature", 5 * MINUTES, { prefix: "s=" }),
    docs: "https://developers.tiktok.com/doc/webhooks-verification",
    event: { type: "json:/event", time: "json:/create_time" },
    note: "The secret is the app's client secret.",
    toleranceIsOurs: true,
  },
}
