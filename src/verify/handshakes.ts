import type { Answered, Event, Rejected, RequestInfo } from "../event.ts"
import { cloudEvents, dropbox, head, meta, msGraph, okta, xCrc } from "./handshakes-by-headers.ts"
import { discord, eventGrid, slack, twitch, xero, zoom } from "./handshakes-signed.ts"
import { sns } from "./handshakes-sns.ts"
import { asana, notion, wooCommerce } from "./handshakes-unsigned.ts"

/** An answer; undefined: the request is no handshake. */
export type HandshakeAnswer = Answered | Rejected | undefined

/** What a provider asks of an endpoint beside taking events: to prove that it is wanted there. */
export interface Handshake {
  /** Methods beside POST that it asks with. */
  readonly methods?: readonly string[]
  /** Answers what the provider does not sign, before a body is read. */
  readonly byHeaders?: (request: RequestInfo) => HandshakeAnswer
  /** Answers what the provider does not sign, by the body. */
  readonly unsigned?: (event: Event) => HandshakeAnswer
  /** Answers requests that were verified, by this one of the secrets, from 0. */
  readonly verified?: (event: Event, secret: number) => HandshakeAnswer | Promise<HandshakeAnswer>
  /** What accepted events are answered with. */
  readonly response?: { readonly body: string; readonly contentType: string }
  /** Whether an answer of 401 must have no body. */
  readonly bodilessRefusal?: boolean
}

/** What handshakes are answered with. */
export interface HandshakeMeans {
  /** Of the verifier. */
  readonly secrets: readonly string[]
  /** What the provider may present. */
  readonly verifyTokens: readonly string[]
  /** Whether URLs that the provider names are visited. */
  readonly confirms: boolean
  /** Takes a secret that the provider makes up; false when one is known already. */
  readonly learn: (secret: string) => boolean
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
}

const HANDSHAKES: { readonly [provider: string]: (means: HandshakeMeans) => Handshake } = {
  // https://adyen.com/knowledge-hub/webhooks-accept-2xx : older set-ups wait for this body
  adyen: () => ({ response: { body: "[accepted]", contentType: "text/plain" } }),
  asana,
  "aws-sns": sns,
  // https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema
  "azure-eventgrid": () => ({ ...cloudEvents(), verified: eventGrid }),
  discord: () => ({ verified: discord }),
  dropbox,
  // https://developers.intercom.com/docs/webhooks/setting-up-webhooks#configuring-your-endpoint-url
  intercom: () => head("intercom_head"),
  // https://mandrill.zendesk.com/hc/en-us/articles/360038740014-Why-can-t-my-webhook-or-inbound-route-URL-be-verified
  mandrill: () => head("mandrill_head"),
  meta,
  "ms-graph": msGraph,
  notion,
  okta,
  slack,
  // https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/#creating-a-webhook
  trello: () => head("trello_head"),
  twitch: () => ({ verified: twitch }),
  woocommerce: wooCommerce,
  "x-twitter": xCrc,
  xero: () => ({ verified: xero, bodilessRefusal: true }),
  zoom,
}

/** The handshakes of a preset; undefined when it has none. */
export function handshakeOf(provider: string, means: HandshakeMeans): Handshake | undefined {
  return Object.hasOwn(HANDSHAKES, provider) ? HANDSHAKES[provider]!(means) : undefined
}
