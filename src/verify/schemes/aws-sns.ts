import { Buffer } from "node:buffer"
import { certificateVerifier, type CertificateClaim } from "./certificate-signature.ts"
import type { CertificateRules } from "../fetch/certificates.ts"
import { textOf, WrongSetting, type Family } from "./family.ts"
import { parseTime } from "./freshness.ts"
import { member, readSignedJson } from "./json-body.ts"
import { Refused, type SignedRequest } from "../verifier.ts"

/**
 * Domains of the partitions other than Amazon's first.
 *
 * @see https://github.com/boto/botocore/blob/develop/botocore/data/partitions.json
 */
const DOMAINS: { readonly [partition: string]: string | undefined } = {
  "aws-cn": "amazonaws.com.cn",
  "aws-eusc": "amazonaws.eu",
  "aws-iso": "c2s.ic.gov",
  "aws-iso-b": "sc2s.sgov.gov",
  "aws-iso-e": "cloud.adc-e.uk",
  "aws-iso-f": "csp.hci.ic.gov",
}

/** The partition and region in a topic's ARN, and the domain and host of SNS there. */
export function snsAt(topic: string) {
  const [, partition = "", , region = ""] = topic.split(":")
  const domain = DOMAINS[partition] ?? "amazonaws.com"
  return { partition, region, domain, host: `sns.${region}.${domain}` }
}

const TOPIC_ARN = /^arn:aws(?:-[a-z]+)*:sns:[a-z\d-]+:\d+:[\w-]+(?:\.fifo)?$/

/** `/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem` */
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]{16,64}\.pem$/

/**
 * URLs and names of the certificates of a topic's region, as in Amazon's SDK for Java.
 *
 * @see https://github.com/aws/aws-sdk-java-v2/blob/master/services-custom/sns-message-manager/src/main/java/software/amazon/awssdk/messagemanager/sns/internal/SnsHostProvider.java
 */
function rulesFor(topic: string): CertificateRules {
  const { partition, region, domain, host } = snsAt(topic)
  const names = [
    `sns.${domain}`,
    host,
    `sns-signing.${region}.${domain}`,
    ...(partition === "aws-cn" ? [`sns-${region}.${domain}`] : []),
    ...(partition === "aws-us-gov" ? [`sns-us-gov-west-1.${domain}`] : []),
  ]
  return {
    allows: ({ hostname, pathname }) => hostname === host && CERTIFICATE_PATH.test(pathname),
    isFor: (found) => found.some((name) => names.includes(name)),
  }
}

/**
 * The signed members in order, of which Subject alone may be missing: Amazon signs each one's name and value as lines. Message
 * comes first and is the only one that may have line breaks, so that the lines can be read in one way only.
 */
const NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
const CONFIRMATION = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]

/**
 * Amazon SNS: RSA over members of the body; version 1 with SHA-1, version 2 with SHA-256. Amazon signs for all customers'
 * topics, so the topic is compared, too.
 *
 * @see https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
 */
export function awsSns(): Family {
  return {
    family: "aws-sns",
    requires: [["topic_arn"]],
    toleranceMs: 0,
    covers: () => ({ body: "part", time: true, id: true }),
    verifier(settings, fetcher) {
      const topic = textOf(settings, "topic_arn")
      if (!TOPIC_ARN.test(topic))
        throw new WrongSetting("topic_arn", "is not of the form arn:aws:sns:eu-west-1:123456789012:orders")
      return certificateVerifier((request) => read(request, topic), rulesFor(topic), {
        fetcher,
        toleranceMs: settings.tolerance ?? 0,
      })
    },
  }
}

function read({ body }: SignedRequest, topic: string): CertificateClaim | Refused {
  const message = readSignedJson(body)
  if (message instanceof Refused) return message
  const type = member(message, "Type")
  const names = type === "Notification" ? NOTIFICATION : CONFIRMATION
  if (type !== "Notification" && type !== "SubscriptionConfirmation" && type !== "UnsubscribeConfirmation")
    return new Refused("malformed", "the body is not an Amazon SNS message")
  const version = member(message, "SignatureVersion")
  if (version !== "1" && version !== "2")
    return new Refused("malformed", "SignatureVersion is neither 1 nor 2")
  const lines = signedLines(message, names)
  if (lines instanceof Refused) return lines
  const [signature, certificateUrl, id, time] = ["Signature", "SigningCertURL", "MessageId", "Timestamp"].map(
    (name) => member(message, name),
  )
  if (typeof signature !== "string" || typeof certificateUrl !== "string" || typeof id !== "string")
    return new Refused("malformed", "no Signature, SigningCertURL or MessageId in the body")
  const timestampMs = typeof time === "string" ? parseTime(time, "iso") : undefined
  if (timestampMs === undefined) return new Refused("malformed", "Timestamp is not a timestamp")
  if (member(message, "TopicArn") !== topic)
    return new Refused("wrong_claim", "TopicArn is not the configured topic")
  return {
    signatures: [signature],
    signed: [Buffer.from(`${lines.join("\n")}\n`)],
    timestampMs,
    id,
    certificateUrl,
    hash: version === "1" ? "sha1" : "sha256",
  }
}

/** A UUID, RFC 9562, section 4. */
const MESSAGE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** Amazon's constraint for Subject, which the other members keep, too. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/

/** The names and values that are signed. */
function signedLines(message: unknown, names: readonly string[]): readonly string[] | Refused {
  const lines: string[] = []
  for (const name of names) {
    const value = member(message, name)
    if (value === undefined && name === "Subject") continue
    if (typeof value !== "string") return new Refused("malformed", `${name} is not a string`)
    if (name !== "Message" && CONTROL_CHARACTERS.test(value))
      return new Refused("malformed", `${name} has a control character`)
    if (name === "MessageId" && !MESSAGE_ID.test(value))
      return new Refused("malformed", "MessageId is not a UUID")
    lines.push(name, value)
  }
  return lines
}
