import { Answered, Rejected, type Event } from "../event.ts"
import { SNS_HOST } from "./aws-sns.ts"
import type { Handshake, HandshakeAnswer, HandshakeMeans } from "./handshakes.ts"
import { member, readJson } from "./json-body.ts"

const VISIT_TIMEOUT_MS = 5000

/**
 * Amazon SNS asks for a subscription to be confirmed, in a message that is signed like its events, by visiting a URL.
 *
 * @see https://docs.aws.amazon.com/sns/latest/dg/SendMessageToHttp.confirm.html
 */
export function sns({ confirms, fetch }: HandshakeMeans): Handshake {
  const confirm = async (text: unknown): Promise<HandshakeAnswer> => {
    const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined
    const isAmazon =
      url?.protocol === "https:" && url.port === "" && url.username === "" && SNS_HOST.test(url.hostname)
    if (url === undefined || !isAmazon)
      return new Rejected(403, "sns_wrong_url", "The subscription can't be confirmed.", {
        logDetail: "SubscribeURL is not at a host of Amazon SNS",
      })
    const problem = await visit(url.href, fetch)
    return problem === undefined
      ? new Answered("sns_subscription_confirmed")
      : new Rejected(503, "sns_not_confirmed", "The subscription could not be confirmed now.", {
          logDetail: problem,
          headers: { "Retry-After": "5" },
        })
  }
  return {
    verified({ body }: Event) {
      if (!Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes("Confirmation"))
        return undefined
      const message = readJson(body)
      switch (member(message, "Type")) {
        case "SubscriptionConfirmation":
          return confirms
            ? confirm(member(message, "SubscribeURL"))
            : new Answered("sns_subscription_not_confirmed")
        case "UnsubscribeConfirmation":
          return new Answered("sns_unsubscribed")
        default:
          return undefined
      }
    },
  }
}

/** What went wrong; undefined: nothing. */
async function visit(url: string, fetch: HandshakeMeans["fetch"]): Promise<string | undefined> {
  try {
    const { ok, status } = await fetch(url, {
      redirect: "error",
      signal: AbortSignal.timeout(VISIT_TIMEOUT_MS),
    })
    return ok ? undefined : `visiting SubscribeURL gave ${status}`
  } catch (error) {
    return `SubscribeURL could not be visited: ${(error as Error).message}`
  }
}
