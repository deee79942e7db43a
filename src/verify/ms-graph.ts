import { secretTest } from "./constant-time.ts"
import { listOf, type Family } from "./family.ts"
import { member, readJson, readSignedJson, withMember } from "./json-body.ts"
import { NOTHING_READ } from "./signature.ts"
import { Refused, Verified, type SignedRequest } from "./verifier.ts"

const MOST_NOTIFICATIONS = 10_000

/**
 * Microsoft Graph: every change notification of a request repeats the `clientState` that the subscription was made with.
 *
 * @see https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks
 */
export function msGraph(): Family {
  return {
    family: "token in the body",
    requires: [["secret"]],
    optional: [],
    secretForm: "the clientState of the subscription",
    toleranceMs: undefined,
    signsUrl: false,
    covers: () => ({ body: "none", time: false, id: false }),
    verifier(settings) {
      const tests = listOf(settings, "secret").map(secretTest)
      const judge = (states: readonly string[] | Refused): Verified | Refused => {
        if (states instanceof Refused) return states
        return states.every((state) => tests.some((test) => test(state)))
          ? new Verified()
          : new Refused("no_match", "a notification's clientState is not the secret")
      }
      return {
        needs: "body",
        signsUrl: false,
        toleranceMs: 0,
        verify: (request) => judge(readStates(request)),
        explain(request) {
          const states = readStates(request)
          const received = states instanceof Refused ? [] : [...new Set(states)]
          return { ...NOTHING_READ, verdict: judge(states), received, toleranceMs: 0 }
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

function readStates({ body }: SignedRequest): readonly string[] | Refused {
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const notifications = member(json, "value")
  if (!Array.isArray(notifications) || notifications.length === 0)
    return new Refused("missing_header", "no list of notifications in value")
  if (notifications.length > MOST_NOTIFICATIONS)
    return new Refused("malformed", `value has more than ${MOST_NOTIFICATIONS} notifications`)
  const states = notifications.map((notification) => member(notification, "clientState"))
  return states.every((state): state is string => typeof state === "string" && state !== "")
    ? states
    : new Refused("missing_header", "no clientState in a notification")
}
