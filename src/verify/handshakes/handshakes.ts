import {
  discord,
  echoOf,
  eventGrid,
  front,
  slack,
  twitch,
  xero,
  zoom,
  asana,
  notion,
  wooCommerce,
} from "./by-body.ts"
import { cloudEvents, dropbox, linkedIn, meta, msGraph, okta, reachable, xCrc } from "./by-headers.ts"
import type { Handshake, HandshakeContext } from "./handshake.ts"
import { sns } from "./sns.ts"

const HANDSHAKES: { readonly [provider: string]: (context: HandshakeContext) => Handshake } = {
  // https://adyen.com/knowledge-hub/webhooks-accept-2xx : older integrations require this body
  adyen: () => ({ response: { body: "[accepted]", contentType: "text/plain" } }),
  asana,
  "aws-sns": sns,
  // https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema
  "azure-eventgrid": () => ({ ...cloudEvents(), verified: eventGrid }),
  discord: () => ({ verified: discord }),
  dropbox,
  // https://developers.intercom.com/docs/webhooks/setting-up-webhooks#configuring-your-endpoint-url
  // https://dev.frontapp.com/docs/application-webhooks#application-webhook-validation
  front: () => ({ verified: front }),
  intercom: () => reachable("intercom_head"),
  linkedin: linkedIn,
  // https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/#handling-the-webhook-response-in-your-application
  mailchimp: () => reachable("mailchimp_validation", ["GET", "HEAD"]),
  // https://mandrill.zendesk.com/hc/en-us/articles/360038740014-Why-can-t-my-webhook-or-inbound-route-URL-be-verified
  mandrill: () => reachable("mandrill_head"),
  meta,
  // https://developer.monday.com/api-reference/docs/webhooks#url-verification
  monday: () => echoOf("monday_challenge", "challenge"),
  "ms-graph": msGraph,
  notion,
  okta,
  slack,
  // https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/#creating-a-webhook
  trello: () => reachable("trello_head"),
  twitch: () => ({ verified: twitch }),
  woocommerce: wooCommerce,
  "x-twitter": xCrc,
  xero: () => ({ verified: xero, bodilessRefusal: true }),
  zoom,
}

/** A preset's handshake, if it has one. */
export function handshakeOf(provider: string, context: HandshakeContext): Handshake | undefined {
  return Object.hasOwn(HANDSHAKES, provider) ? HANDSHAKES[provider]!(context) : undefined
}
