import type { RequestInfo } from "../../pipeline/event.ts"
import { Answered, Rejected } from "../../pipeline/outcome.ts"
import { headerText } from "../../headers.ts"
import { secretTest } from "../crypto.ts"
import { isChallenge } from "../schemes/challenge.ts"
import { echo, json } from "./answer.ts"
import type { Handshake, HandshakeAnswer, HandshakeContext } from "./handshake.ts"

const parameter = ({ query }: RequestInfo, name: string): string | undefined =>
  query === "" ? undefined : (new URLSearchParams(query).get(name) ?? undefined)

const onGet = (answer: (request: RequestInfo) => HandshakeAnswer): Handshake => ({
  methods: ["GET"],
  byHeaders: (request) => (request.method === "GET" ? answer(request) : undefined),
})

/**
 * @see https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests
 * @see https://github.com/fbsamples/original-coast-clothing/blob/main/app.js for the 403
 */
export function meta({ verifyTokens }: HandshakeContext): Handshake {
  const tests = verifyTokens.map(secretTest)
  return onGet((request) => {
    const challenge = parameter(request, "hub.challenge")
    const presented = parameter(request, "hub.verify_token")
    if (challenge === undefined || parameter(request, "hub.mode") !== "subscribe") return undefined
    if (presented !== undefined && tests.some((test) => test(presented)))
      return echo("meta_challenge", challenge)
    return new Rejected(403, "wrong_verify_token", "Wrong verify token.")
  })
}

/**
 * X's unsigned challenge-response check, which does not show the secret that X expects: for apps with both, the OAuth 2.0
 * client secret rather than the older consumer secret.
 *
 * @see https://docs.x.com/x-api/webhooks/introduction#signature-headers
 * @see https://docs.x.com/x-api/webhooks/quickstart#2-the-crc-check
 */
export function xCrc({ sign }: HandshakeContext): Handshake {
  return onGet((request) => {
    const token = parameter(request, "crc_token")
    if (!isChallenge(token)) return undefined
    return json("x_crc", { response_token: `sha256=${sign(token, "base64")}` })
  })
}

/** @see https://learn.microsoft.com/en-us/linkedin/shared/api-guide/webhook-validation#validating-the-webhook-endpoint */
export function linkedIn({ sign }: HandshakeContext): Handshake {
  return onGet((request) => {
    const challengeCode = parameter(request, "challengeCode")
    if (!isChallenge(challengeCode)) return undefined
    return json("linkedin_challenge", { challengeCode, challengeResponse: sign(challengeCode, "hex") })
  })
}

/** @see https://www.dropbox.com/developers/reference/webhooks#documentation */
export function dropbox(): Handshake {
  return onGet((request) => {
    const challenge = parameter(request, "challenge")
    return challenge === undefined ? undefined : echo("dropbox_challenge", challenge)
  })
}

/** @see https://developer.okta.com/docs/concepts/event-hooks/#one-time-verification-request */
export function okta(): Handshake {
  return onGet(({ headers }) => {
    const verification = headers.get("X-Okta-Verification-Challenge")
    return verification === null
      ? undefined
      : json("okta_challenge", { verification: headerText(verification) })
  })
}

/** Providers that check reachability, by HEAD unless other methods are named. */
export function reachable(reason: string, methods: readonly string[] = ["HEAD"]): Handshake {
  return {
    methods,
    byHeaders: ({ method }) => (methods.includes(method) ? new Answered(reason) : undefined),
  }
}

/**
 * Microsoft Graph posts without a body and expects the decoded token.
 *
 * @see https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks#notificationurl-validation
 */
export function msGraph(): Handshake {
  return {
    byHeaders(request) {
      const token = request.method === "POST" ? parameter(request, "validationToken") : undefined
      return token === undefined ? undefined : echo("ms_graph_validation", token)
    },
  }
}

/** Event Grid's only origin. */
const EVENT_GRID = "eventgrid.azure.net"

/**
 * Abuse protection of CloudEvents, which Event Grid uses. It does not authenticate.
 *
 * @see https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md#4-abuse-protection
 * @see https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-cloud-events-schema
 */
export function cloudEvents(): Handshake {
  return {
    methods: ["OPTIONS"],
    byHeaders({ method, headers }) {
      if (method !== "OPTIONS") return undefined
      const origin = headers.get("WebHook-Request-Origin")
      if (origin === null) return undefined
      if (origin.toLowerCase() !== EVENT_GRID)
        return new Rejected(403, "origin_not_allowed", "Origin not allowed.")
      return new Answered("cloudevents_validation", {
        headers: { "WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*", Allow: "POST, OPTIONS" },
      })
    },
  }
}
