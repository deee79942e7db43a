import { discord, eventGrid, slack, twitch, xero, zoom, asana, notion, wooCommerce } from "./by-body.ts"
import { cloudEvents, dropbox, meta, msGraph, okta, reachable, xCrc } from "./by-headers.ts"
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
  intercom: () => reachable("intercom_head"),
  // https://mandrill.zendesk.com/hc/en-us/articles/360038740014-Why-can-t-my-webhook-or-inbound-route-URL-be-verified
  mandrill: () => reachable("mandrill_head"),
  meta,
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
