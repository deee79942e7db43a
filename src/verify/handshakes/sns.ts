import { Answered, Rejected } from "../../pipeline/outcome.ts"
import { snsAt } from "../schemes/aws-sns.ts"
import { hasText } from "./answer.ts"
import type { Handshake, HandshakeAnswer, HandshakeContext } from "./handshake.ts"
import { fetchFailure } from "../../outgoing/proxied-fetch.ts"
import { member } from "../schemes/json-body.ts"
import { readJson } from "../../json/read.ts"

const CONFIRM_TIMEOUT_MS = 5000

/**
 * Amazon SNS has subscriptions confirmed by fetching a URL from a signed message.
 *
 * @see https://docs.aws.amazon.com/sns/latest/dg/SendMessageToHttp.confirm.html
 */
export function sns({ confirms, fetch }: HandshakeContext): Handshake {
  const confirm = async (text: unknown, topic: unknown): Promise<HandshakeAnswer> => {
    const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined
    // the verified message's topic is the configured one
    const isAmazon =
      url?.protocol === "https:" &&
      url.port === "" &&
      url.username === "" &&
      url.hostname === snsAt(String(topic)).host
    if (url === undefined || !isAmazon)
      return new Rejected(403, "sns_wrong_url", "The subscription can't be confirmed.", {
        logDetail: "SubscribeURL is not a URL of Amazon SNS in the topic's region",
      })
    const problem = await fetchConfirmation(url.href, fetch)
    return problem === undefined
      ? new Answered("sns_subscription_confirmed")
      : new Rejected(503, "sns_not_confirmed", "The subscription could not be confirmed now.", {
          logDetail: problem,
          headers: { "Retry-After": "5" },
        })
  }
  return {
    verified(event) {
      if (!hasText(event, "Confirmation")) return undefined
      const message = readJson(event.body)
      switch (member(message, "Type")) {
        case "SubscriptionConfirmation":
          return confirms
            ? confirm(member(message, "SubscribeURL"), member(message, "TopicArn"))
            : new Answered("sns_subscription_not_confirmed")
        case "UnsubscribeConfirmation":
          return new Answered("sns_unsubscribed")
        default:
          return undefined
      }
    },
  }
}

/** @returns the problem, if any */
async function fetchConfirmation(url: string, fetch: HandshakeContext["fetch"]): Promise<string | undefined> {
  try {
    const { ok, status } = await fetch(url, {
      redirect: "error",
      signal: AbortSignal.timeout(CONFIRM_TIMEOUT_MS),
    })
    return ok ? undefined : `HTTP ${status} from SubscribeURL`
  } catch (error) {
    return `fetching SubscribeURL failed: ${fetchFailure(error)}`
  }
}
