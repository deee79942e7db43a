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
    // https://github.com/polarsource/polar-js/blob/main/src/webhooks.ts
    scheme: standardWebhooks("webhook-", "text"),
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/timestamp" },
    note: "The whole text of the secret is the key, also where it begins with polar_whs_.",
  }),
  supabase: follows("Supabase auth hooks", "https://supabase.com/docs/guides/auth/auth-hooks", {
    event: { id: "header:webhook-id" },
    note: "The secret is v1,whsec_ and base64, as Supabase shows it. Hooks that decide something need an answer of their own: only those that notify make sense here.",
  }),
}
