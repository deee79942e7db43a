import { secretTest } from "./constant-time.ts"
import { listOf, type Family } from "./family.ts"
import { member, readJson, readSignedJson, withMember } from "./json-body.ts"
import { graphTokens } from "./ms-graph-tokens.ts"
import { NOTHING_READ } from "./signature.ts"
import { Refused, Verified, type SignedRequest, type Verdict } from "./verifier.ts"

const MOST_NOTIFICATIONS = 10_000

/** What a request says of itself. */
interface Notifications {
  readonly states: readonly string[]
  /** Whether one has resource data, which comes with tokens. */
  readonly isRich: boolean
  readonly tokens: readonly unknown[]
}

/**
 * Microsoft Graph: every change notification of a request repeats the `clientState` that the subscription was made with.
 * Those with resource data bring tokens beside them, see ms-graph-tokens.ts; with `audience` they have to.
 *
 * @see https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks
 */
export function msGraph(): Family {
  return {
    family: "token in the body",
    requires: [["secret"]],
    optional: ["audience", "issuer", "jwks_url"],
    secretForm: "the clientState of the subscription",
    toleranceMs: undefined,
    signsUrl: false,
    covers: () => ({ body: "none", time: false, id: false }),
    verifier(settings, outside) {
      const tests = listOf(settings, "secret").map(secretTest)
      const judgeTokens = graphTokens(settings, outside)
      // the secret first: strangers can't have keys fetched
      const judge = (read: Notifications | Refused, nowMs: number): Verdict | Promise<Verdict> => {
        if (read instanceof Refused) return read
        if (!read.states.every((state) => tests.some((test) => test(state))))
          return new Refused("no_match", "a notification's clientState is not the secret")
        if (read.tokens.length > 0)
          return judgeTokens(read.tokens, nowMs).then((refused) => refused ?? new Verified())
        return read.isRich && settings.audience !== undefined
          ? new Refused("missing_header", "no validationTokens beside encryptedContent")
          : new Verified()
      }
      return {
        needs: "body",
        signsUrl: false,
        toleranceMs: 0,
        verify: (request, nowMs) => judge(readNotifications(request), nowMs),
        async explain(request, nowMs) {
          const read = readNotifications(request)
          const received = read instanceof Refused ? [] : [...new Set(read.states)]
          return { ...NOTHING_READ, verdict: await judge(read, nowMs), received, toleranceMs: 0 }
        },
      }
    },
    signer: (settings) => ({
      sign({ method, url, headers, body }) {
        const [clientState = ""] = listOf(settings, "secret")
        const notifications = member(readJson(body), "value")
        const value = Array.isArray(notifications) ? notifications : [{}]
        const signed = withMember(
          body,
          "value",
          value.map((it: object) => ({ ...it, clientState })),
        )
        return { method, url, headers: new Headers(headers), body: signed }
      },
    }),
  }
}

function readNotifications({ body }: SignedRequest): Notifications | Refused {
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const notifications = member(json, "value")
  if (!Array.isArray(notifications) || notifications.length === 0)
    return new Refused("missing_header", "no list of notifications in value")
  if (notifications.length > MOST_NOTIFICATIONS)
    return new Refused("malformed", `value has more than ${MOST_NOTIFICATIONS} notifications`)
  const states = notifications.map((notification) => member(notification, "clientState"))
  if (!states.every((state): state is string => typeof state === "string" && state !== ""))
    return new Refused("missing_header", "no clientState in a notification")
  const tokens = member(json, "validationTokens") ?? []
  if (!Array.isArray(tokens)) return new Refused("malformed", "validationTokens is no list")
  const isRich = notifications.some((notification) => member(notification, "encryptedContent") !== undefined)
  return { states, isRich, tokens }
}
