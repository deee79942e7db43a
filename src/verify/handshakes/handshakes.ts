import { createHmac } from "node:crypto"
import { HooklineError } from "../../errors.ts"
import { presetOf } from "../presets/presets.ts"
import { nameOf, type ProviderRef } from "../presets/providers.ts"
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

interface Row {
  readonly make: (context: HandshakeContext) => Handshake
  /** What is asked and what is answered, for docs/providers.md. */
  readonly says: readonly (readonly [asked: string, answered: string])[]
}

const row = (make: Row["make"], ...says: Row["says"]): Row => ({ make, says })

/** By preset. */
export const HANDSHAKES: { readonly [provider: string]: Row } = {
  // https://adyen.com/knowledge-hub/webhooks-accept-2xx : older integrations require this body
  adyen: row(
    () => ({ response: { body: "[accepted]", contentType: "text/plain" } }),
    ["each event", "`[accepted]`, unless response_body is set"],
  ),
  asana: row(asana, [
    "X-Hook-Secret, not signed",
    "the same header, `secret_count` times (default: once), each with another secret",
  ]),
  "aws-sns": row(sns, [
    "SubscriptionConfirmation, signed",
    "200; the URL is fetched only with `confirm = true`, from Amazon's hosts",
  ]),
  // https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema
  "azure-eventgrid": row(
    () => ({ ...cloudEvents(), verified: eventGrid }),
    ["SubscriptionValidationEvent, with the secret", "validationResponse"],
    ["OPTIONS of eventgrid.azure.net", "WebHook-Allowed-Origin"],
  ),
  discord: row(() => ({ verified: discord }), ["PING, signed", '`{"type":1}`, or 204 for webhook events']),
  dropbox: row(dropbox, ["GET with challenge", "the challenge"]),
  // https://dev.frontapp.com/docs/application-webhooks#application-webhook-validation
  front: row(() => ({ verified: front }), ["X-Front-Challenge, signed", "the challenge"]),
  // https://developers.intercom.com/docs/webhooks/setting-up-webhooks#configuring-your-endpoint-url
  intercom: row(() => reachable("intercom_head"), ["HEAD", "200"]),
  linkedin: row(linkedIn, ["GET with challengeCode", "the code and its HMAC by the first secret"]),
  // https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/#handling-the-webhook-response-in-your-application
  mailchimp: row(() => reachable("mailchimp_validation", ["GET", "HEAD"]), ["GET or HEAD", "200"]),
  // https://mandrill.zendesk.com/hc/en-us/articles/360038740014-Why-can-t-my-webhook-or-inbound-route-URL-be-verified
  mandrill: row(() => reachable("mandrill_head"), ["HEAD", "200"]),
  meta: row(meta, ["GET with hub.challenge", "the challenge, if `verify_token` matches"]),
  // https://developer.monday.com/api-reference/docs/webhooks#url-verification
  monday: row(
    () => echoOf("monday_challenge", "challenge"),
    ["challenge as the only member, not signed", "the challenge"],
  ),
  "ms-graph": row(msGraph, ["POST with validationToken", "the token"]),
  notion: row(notion, ["verification_token, not signed", "200, once: until secret_file exists"]),
  okta: row(okta, ["GET with X-Okta-Verification-Challenge", "the challenge"]),
  slack: row(slack, ["url_verification, signed", "the challenge"], ["ssl_check*", "200"]),
  // https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/#creating-a-webhook
  trello: row(() => reachable("trello_head"), ["HEAD", "200"]),
  twitch: row(() => ({ verified: twitch }), ["webhook_callback_verification, signed", "the challenge"]),
  woocommerce: row(wooCommerce, ["ping, not signed*", "200"]),
  "x-twitter": row(xCrc, ["GET with crc_token", "its HMAC by the first secret"]),
  xero: row(
    () => ({ verified: xero, bodilessRefusal: true }),
    ["intent to receive", "200, or 401 without a body if the signature is wrong"],
  ),
  zoom: row(zoom, [
    "endpoint.url_validation, signed",
    "the HMAC of plainToken by the secret that verified the request",
  ]),
}

/** Signs challenges by HMAC-SHA256, for providers whose events can't have the form of one. */
export function challengeSigner(
  provider: ProviderRef,
  secrets: readonly string[] = [],
): HandshakeContext["sign"] {
  return (challenge, encoding, secret = 0) => {
    const scheme = presetOf(provider)?.scheme
    if (scheme === undefined || !("hmac" in scheme) || scheme.hmac.signsChallenges !== true)
      throw new HooklineError("internal", `${nameOf(provider)}: whoever asks would get an event's signature`)
    return createHmac("sha256", secrets[secret]!).update(challenge).digest(encoding)
  }
}

/** A preset's handshake, if it has one. */
export function handshakeOf(provider: string, context: HandshakeContext): Handshake | undefined {
  return Object.hasOwn(HANDSHAKES, provider) ? HANDSHAKES[provider]!.make(context) : undefined
}
