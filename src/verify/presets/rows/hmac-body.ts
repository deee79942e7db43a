import type { Preset } from "../preset.ts"

/** Senders that sign the body by an HMAC, without a time. */
export const BODY_ONLY: { readonly [name: string]: Preset } = {
  "lemon-squeezy": {
    title: "Lemon Squeezy",
    scheme: { hmac: { header: "X-Signature" } },
    docs: "https://docs.lemonsqueezy.com/help/webhooks/signing-requests",
    // https://docs.lemonsqueezy.com/help/webhooks/webhook-requests
    event: { type: ["header:X-Event-Name", "json:/meta/event_name"] },
  },
  quickbooks: {
    title: "QuickBooks Online (Intuit)",
    scheme: { hmac: { header: "intuit-signature", encoding: "base64" } },
    docs: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks/managing-webhooks-notifications",
    event: { id: "json:/id", type: "json:/type", time: "json:/time", source: "json:/intuitaccountid" },
    note: "The secret is the webhook's verifier token. Lists of CloudEvents become an event each; the older objects have neither id nor type.",
    body: {
      format: "json",
      lists: "split",
      docs: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks",
    },
  },
  "cal-com": {
    title: "Cal.com",
    scheme: { hmac: { header: "X-Cal-Signature-256" } },
    docs: "https://cal.com/docs/core-features/webhooks",
    event: { type: "json:/triggerEvent", time: "json:/createdAt" },
    note: "Without a secret in its settings a webhook is not signed.",
  },
  clickup: {
    title: "ClickUp",
    scheme: { hmac: { header: "X-Signature" } },
    docs: "https://developer.clickup.com/docs/webhooksignature",
    event: { type: "json:/event" },
    note: "Each webhook has a secret of its own, in the answer to the request that creates it.",
  },
  airtable: {
    title: "Airtable",
    scheme: { hmac: { header: "X-Airtable-Content-MAC", prefix: "hmac-sha256=", secret: "base64" } },
    docs: "https://airtable.com/developers/web/api/webhooks-overview",
    event: { time: "json:/timestamp", source: "json:/base/id" },
    note: "The secret is macSecretBase64 of the answer that creates the webhook. Events only say that payloads can be listed.",
  },
  paystack: {
    title: "Paystack",
    scheme: { hmac: { header: "x-paystack-signature", algorithm: "sha512" } },
    docs: "https://paystack.com/docs/payments/webhooks/",
    event: { type: "json:/event" },
    note: "The secret is the API's secret key, sk_live_ or sk_test_.",
  },
  "help-scout": {
    title: "Help Scout",
    scheme: { hmac: { header: "X-HelpScout-Signature", algorithm: "sha1", encoding: "base64" } },
    docs: "https://developer.helpscout.com/webhooks/",
    event: { type: "header:X-HelpScout-Event" },
  },
  tally: {
    title: "Tally",
    scheme: { hmac: { header: "Tally-Signature", encoding: "base64" } },
    docs: "https://tally.so/help/webhooks",
    event: { id: "json:/eventId", type: "json:/eventType", time: "json:/createdAt" },
    note: "Without a signing secret in its settings a webhook is not signed.",
  },
  "checkout-com": {
    title: "Checkout.com",
    scheme: { hmac: { header: "Cko-Signature" } },
    docs: "https://www.checkout.com/docs/developer-resources/webhooks/manage-webhooks/set-up-your-webhook-receiver",
    event: { id: "json:/id", type: "json:/type", time: "json:/created_on" },
    note: "The secret is the signature key of the workflow's webhook action.",
  },
  pandadoc: {
    title: "PandaDoc",
    scheme: { hmac: { query: "signature" } },
    docs: "https://developers.pandadoc.com/docs/webhook-verification",
    // https://developers.pandadoc.com/docs/webhooks-overview/ : since 2026-07-20
    event: { id: "header:X-PandaDoc-Webhook-Event-Id", type: "json:/event" },
    note: "The secret is the subscription's shared key. The signature is in the URL's query: keep it if a proxy rewrites URLs.",
    body: {
      format: "json",
      lists: "split",
      docs: "https://developers.pandadoc.com/reference/on-document-status-change",
    },
  },
  heroku: {
    title: "Heroku",
    scheme: { hmac: { header: "Heroku-Webhook-Hmac-SHA256", encoding: "base64" } },
    docs: "https://devcenter.heroku.com/articles/app-webhooks#securing-webhook-requests",
    event: { id: "json:/id", type: "json:/resource", time: "json:/created_at" },
    note: "Of webhooks with a secret, which Heroku shows once.",
  },
  "terraform-cloud": {
    title: "HCP Terraform",
    scheme: { hmac: { header: "X-TFE-Notification-Signature", algorithm: "sha512" } },
    docs: "https://developer.hashicorp.com/terraform/cloud-docs/workspaces/settings/notifications#notification-authenticity",
    event: {
      type: "json:/notifications/0/trigger",
      time: "json:/notifications/0/run_updated_at",
      source: "json:/workspace_name",
    },
    note: "The secret is the notification's token; notifications without one are not signed. The verification request becomes an event.",
  },
  linkedin: {
    title: "LinkedIn",
    scheme: {
      hmac: {
        header: "X-LI-Signature",
        prefix: "hmacsha256=",
        prefixOptional: true,
        payload: "hmacsha256={body}",
        signsChallenges: true,
      },
    },
    docs: "https://learn.microsoft.com/en-us/linkedin/shared/api-guide/webhook-validation",
    event: { type: "json:/type" },
    note: "The secret is the app's client secret, which signs the challenge, too.",
  },
  "ms-teams": {
    title: "Microsoft Teams (outgoing webhooks)",
    scheme: { hmac: { header: "Authorization", prefix: "HMAC ", encoding: "base64", secret: "base64" } },
    docs: "https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook",
    event: { id: "json:/id", type: "json:/type", time: "json:/timestamp", source: "json:/channelId" },
    note: 'The secret is the security token. Teams shows the answer in the channel: set response_body to {"type":"message","text":"…"} and response_content_type to application/json.',
  },
  gitea: {
    title: "Gitea",
    scheme: { hmac: { header: "X-Gitea-Signature" } },
    docs: "https://docs.gitea.com/usage/repository/webhooks",
    event: {
      id: "header:X-Gitea-Delivery",
      type: "header:X-Gitea-Event",
      source: "json:/repository/full_name",
    },
    note: "Its headers for GitHub's receivers are signed alike: provider = github works, too.",
  },
  forgejo: {
    title: "Forgejo",
    scheme: { hmac: { header: "X-Forgejo-Signature" } },
    docs: "https://forgejo.org/docs/latest/user/webhooks/",
    event: {
      id: "header:X-Forgejo-Delivery",
      type: "header:X-Forgejo-Event",
      source: "json:/repository/full_name",
    },
    note: "Its headers for GitHub's and Gitea's receivers are signed alike: provider = github works, too.",
  },
}
