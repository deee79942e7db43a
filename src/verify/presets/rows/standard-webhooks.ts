import { standardWebhooks } from "../../schemes/standard-webhooks.ts"
import type { Preset } from "../preset.ts"

/** A sender that follows the specification. */
const follows = (title: string, docs: string, more: Partial<Preset> = {}): Preset => ({
  title,
  scheme: standardWebhooks("webhook-"),
  docs,
  event: { id: "header:webhook-id", type: "json:/type" },
  ...more,
})

/** Senders that sign by Standard Webhooks. */
export const STANDARD: { readonly [name: string]: Preset } = {
  polar: follows("Polar", "https://polar.sh/docs/integrate/webhooks/delivery", {
    // https://github.com/polarsource/polar/pull/14117 : of secrets made since 2026-09-08 the decoded key signs
    scheme: standardWebhooks("webhook-", "whsec or text"),
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/timestamp" },
    note: "The secret as Polar shows it. Secrets made since 2026-09-08 (whsec_) sign with the decoded key, older ones with their whole text, polar_whs_ or whsec_ included; either is accepted.",
  }),
  supabase: follows("Supabase auth hooks", "https://supabase.com/docs/guides/auth/auth-hooks", {
    event: { id: "header:webhook-id" },
    note: "The secret is v1,whsec_ and base64, as Supabase shows it. Hooks that decide something need an answer of their own: only those that notify make sense here.",
  }),
  replicate: follows("Replicate", "https://replicate.com/docs/topics/webhooks/verify-webhook", {
    event: { id: "header:webhook-id", type: "json:/status", time: "json:/created_at" },
    note: "An event is the prediction as it is then; several of them have its id.",
  }),
  render: follows("Render", "https://render.com/docs/webhooks", {
    event: {
      id: "header:webhook-id",
      type: "json:/type",
      time: "json:/timestamp",
      source: "json:/data/serviceId",
    },
  }),
  brex: follows("Brex", "https://developer.brex.com/docs/webhooks", {
    event: { id: "header:webhook-id", type: "json:/event_type", source: "json:/company_id" },
    note: "The secret is base64, from the API's list of webhook secrets.",
  }),
  "dodo-payments": follows("Dodo Payments", "https://docs.dodopayments.com/developer-resources/webhooks", {
    event: {
      id: "header:webhook-id",
      type: "json:/type",
      time: "json:/timestamp",
      source: "json:/business_id",
    },
  }),
  "incident-io": follows("incident.io", "https://docs.incident.io/api-reference/webhooks", {
    event: { id: "header:webhook-id", type: "json:/event_type" },
  }),
  lithic: follows("Lithic", "https://docs.lithic.com/docs/events-api", {
    // https://github.com/lithic-com/lithic-node/blob/main/src/resources/webhooks.ts
    event: { id: "header:webhook-id", type: "json:/event_type" },
  }),
  etsy: follows("Etsy", "https://developers.etsy.com/documentation/essentials/webhooks", {
    event: { id: "header:webhook-id", type: "json:/event_type", source: "json:/shop_id" },
  }),
  gemini: follows("Gemini API", "https://ai.google.dev/gemini-api/docs/webhooks", {
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/timestamp" },
    note: "Of static webhooks. Dynamic ones, which a request to the API names, are signed by a JSON Web Token instead and are refused.",
  }),
  vanta: follows("Vanta", "https://developer.vanta.com/docs/webhooks", {
    scheme: standardWebhooks("svix-"),
    event: { id: "header:svix-id", type: "json:/type" },
  }),
  stytch: follows("Stytch", "https://stytch.com/docs/guides/webhooks", {
    scheme: standardWebhooks("svix-"),
    event: {
      id: "header:svix-id",
      type: ["json:/event_type", "json:/action"],
      time: "json:/timestamp",
      source: "json:/project_id",
    },
  }),
}
