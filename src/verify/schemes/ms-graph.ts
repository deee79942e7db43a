import { secretTest } from "../crypto.ts"
import { credentialVerifier } from "./credential.ts"
import { listOf, type Family } from "./family.ts"
import { member, readSignedJson, withMember } from "./json-body.ts"
import { readJson } from "../../json/read.ts"
import { graphTokens } from "./key-schemes.ts"
import { Refused, Verified, type SignedRequest } from "../verifier.ts"

const MOST_NOTIFICATIONS = 10_000

/**
 * Microsoft Graph: every change notification of a request repeats the `clientState` of the subscription. Those with
 * resource data come with tokens, see ms-graph-tokens.ts, which `audience` makes mandatory.
 *
 * @see https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks
 */
export function msGraph(): Family {
  return {
    family: "token in the body",
    requires: [["secret"]],
    optional: ["audience", "issuer", "jwks_url"],
    secretForm: "the clientState of the subscription",
    covers: () => ({ body: "none", time: false, id: false, credential: {} }),
    verifier(settings, fetcher) {
      const tests = listOf(settings, "secret").map(secretTest)
      const checkTokens = graphTokens(settings, fetcher)
      return credentialVerifier({
        needs: "body",
        isQuick: true,
        read: readNotifications,
        // the secret first: strangers can't cause keys to be fetched
        check({ states, tokens, isRich }, _request, nowMs) {
          if (!states.every((state) => tests.some((test) => test(state))))
            return new Refused("no_match", "clientState mismatch")
          if (tokens.length > 0)
            return checkTokens(tokens, nowMs).then((refused) => refused ?? new Verified())
          return isRich && settings.audience !== undefined
            ? new Refused("missing_header", "encryptedContent without validationTokens")
            : new Verified()
        },
        show: ({ states }) => ({ received: [...new Set(states)] }),
      })
    },
    signer: (settings) => ({
      sign({ method, url, headers, body }) {
        const [clientState = ""] = listOf(settings, "secret")
        const notifications = member(readJson(body), "value")
        const value = (Array.isArray(notifications) ? notifications : [{}]).map((it: object) => ({
          ...it,
          clientState,
        }))
        return { method, url, headers: new Headers(headers), body: withMember(body, "value", value) }
      },
    }),
  }
}

function readNotifications({ body }: SignedRequest) {
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const notifications = member(json, "value")
  if (!Array.isArray(notifications) || notifications.length === 0)
    return new Refused("missing_header", "no notifications in value")
  if (notifications.length > MOST_NOTIFICATIONS)
    return new Refused("malformed", `value has more than ${MOST_NOTIFICATIONS} notifications`)
  const states = notifications.map((notification) => member(notification, "clientState"))
  if (!states.every((state): state is string => typeof state === "string" && state !== ""))
    return new Refused("missing_header", "no clientState in a notification")
  const tokens: unknown = member(json, "validationTokens") ?? []
  if (!Array.isArray(tokens)) return new Refused("malformed", "validationTokens is not a list")
  /** Whether one has resource data, which comes with tokens. */
  const isRich = notifications.some((notification) => member(notification, "encryptedContent") !== undefined)
  return { states, isRich, tokens }
}
