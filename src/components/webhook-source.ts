import { file, integer, list, number, size, text } from "../config/options.ts"
import type { OptionSet, Values } from "../config/options.ts"
import type { Checking } from "../config/section.ts"
import { addressTest, parseNetwork } from "../http/addresses.ts"
import { isBodiless } from "../http/answer.ts"
import { RateLimit } from "../http/rate-limit.ts"
import type { Route } from "../http/route.ts"
import { UnverifiedLimit } from "../http/unverified-limit.ts"
import { parsePublicUrl } from "../verify/public-url.ts"
import { defineComponent, type ComponentContext } from "./component.ts"

const network = text({
  form: "an address or network such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32",
  accepts: (value) => parseNetwork(value) !== undefined,
  doc: "An address or network.",
})

const mediaType = text({
  form: "a media type such as application/json",
  pattern: /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/,
  doc: "A media type, without parameters.",
})

const OPTIONS = {
  port: integer({
    min: 0,
    max: 65_535,
    default: "8080",
    doc: "Where to listen; 0 lets the system choose. Several pipelines may share a port.",
  }),
  path: text({
    default: "/webhook",
    pattern: /^\/(?:[^?#*\s\\]*\/)?(?:[^?#*\s\\]*|\*)$/,
    accepts: (path) => !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path),
    form: "a path that begins with / and has neither a query nor \\ nor the parts . and ..; as its last part it may have *",
    doc: "Where webhooks are posted to, compared byte for byte, see proxies.md. `/hooks/*` is every path below `/hooks/`; the longest one that fits wins, the exact one before all.",
  }),
  host: text({
    default: "0.0.0.0",
    pattern: /^[^\s/[\]]+$/,
    form: "a host name or an address, an IPv6 one without brackets",
    doc: "Address of this machine to listen on; `::` is every one, IPv6 too.",
  }),
  max_body_bytes: size({
    default: "1MiB",
    min: 1,
    max: 1024 ** 3,
    doc: "The largest body that is taken, before and after decompression; a larger one gets 413.",
  }),
  response_status: integer({
    min: 200,
    max: 299,
    default: "200",
    doc: "Status of the answer when the event is published; several providers accept 200 alone.",
  }),
  response_body: text({ default: "", doc: "Body of that answer." }),
  response_content_type: text({
    optional: true,
    pattern: /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/,
    form: "a content type such as application/json",
    doc: "Content type of that answer.",
  }),
  content_types: list(mediaType, {
    optional: true,
    doc: "Media types of the bodies that are taken; others get 415. Without it any is.",
  }),
  rate_limit: number({
    min: 0.001,
    max: 1_000_000,
    optional: true,
    doc: "How many events a second the pipeline takes, 0.5 for one in two seconds; what is beyond them gets 429 with Retry-After. Where a Verifier keeps others out, verified events count alone. Without it there is no limit.",
  }),
  rate_burst: integer({
    min: 1,
    max: 1_000_000,
    optional: true,
    doc: "How many events may come at once after a pause. Without it as many as `rate_limit` lets in within a second, at least 1.",
  }),
  unverified_rate_limit: number({
    min: 0.001,
    max: 1_000_000,
    default: "100",
    doc: "How many requests a second of one address, or of one IPv6 network of 64 bits, may fail to be verified; then whatever it sends gets 429 with Retry-After before its body is read, unless a verified event came from there within the last minute. For pipelines with a Verifier.",
  }),
  allow: list(network, {
    optional: true,
    doc: "Addresses and networks that may send; others get 403. Without it any may.",
  }),
  trusted_proxies: list(network, {
    optional: true,
    doc: "Addresses and networks of the proxies whose X-Forwarded-For counts as the sender's address, and whose X-Forwarded-Proto and X-Forwarded-Host as the URL.",
  }),
  public_url: text({
    optional: true,
    accepts: (value) => parsePublicUrl(value) !== undefined,
    form: "a URL such as https://hooks.example.com or https://hooks.example.com/path",
    doc: "Where senders believe to send to, for providers that sign the URL: an origin, before each request's own path and query, or with a path in place of the request's. Without it the Host header tells, and X-Forwarded-Proto and X-Forwarded-Host of `trusted_proxies`.",
  }),
  tls_certificate: file({
    optional: true,
    doc: "A PEM file with the certificate and its chain; with it the port speaks HTTPS.",
  }),
  tls_key: file({ optional: true, doc: "A PEM file with the certificate's key." }),
  tls_client_ca: file({
    optional: true,
    doc: "A PEM file with the CAs of client certificates; with it every sender has to have one.",
  }),
} satisfies OptionSet

/** Takes webhooks in over HTTP. */
export const WebHookSource = defineComponent({
  kind: "source",
  name: "WebHookSource",
  summary: "Takes webhooks in over HTTP and answers them when they are durably published.",
  options: OPTIONS,
  check,
  verifies: ({ tls_client_ca }) => tls_client_ca !== undefined,
  create(values, { pipeline, keep, workers, deliveryTimeoutMs }) {
    const { response_status: status, response_body: body, response_content_type: contentType } = values
    const rateLimit = rateLimitOf(values, { keep, workers })
    const perAddress = { perSecond: values.unverified_rate_limit / workers }
    const unverifiedLimit = keep({
      name: "unverified rate limit",
      wants: perAddress,
      open: () => new UnverifiedLimit(perAddress),
    })
    return (handle) => ({
      pipeline,
      host: values.host,
      port: values.port,
      path: values.path,
      maxBodyBytes: values.max_body_bytes,
      contentTypes: values.content_types?.map((type) => type.toLowerCase()),
      allows: values.allow && addressTest(values.allow),
      trustsProxy: values.trusted_proxies && addressTest(values.trusted_proxies),
      publicUrl: values.public_url === undefined ? undefined : parsePublicUrl(values.public_url),
      tls: tlsOf(values),
      rateLimit,
      unverifiedLimit,
      deliveryTimeoutMs,
      response: { status, body, contentType },
      handle,
    })
  },
})

function check({ values, isGiven, wrong }: Checking<typeof OPTIONS>): void {
  const { response_status: status, response_body: body } = values
  if (status !== undefined && isBodiless(status) && body !== undefined && body !== "")
    wrong("response_body", `an answer of status ${status} has no body; leave it out, or set another status`)

  const hasCertificate = isGiven("tls_certificate")
  const hasKey = isGiven("tls_key")
  if (hasCertificate && !hasKey) wrong("tls_certificate", "needs its key; add tls_key = <a PEM file>")
  if (hasKey && !hasCertificate) wrong("tls_key", "needs its certificate; add tls_certificate = <a PEM file>")
  if (isGiven("tls_client_ca") && !hasCertificate && !hasKey)
    wrong(
      "tls_client_ca",
      "needs a certificate of this side too; add tls_certificate = <a PEM file> and tls_key = <a PEM file>",
    )

  if (isGiven("rate_burst") && !isGiven("rate_limit"))
    wrong("rate_burst", "is set without rate_limit; set both, or neither")
}

function tlsOf(values: Values<typeof OPTIONS>): Route["tls"] {
  const { tls_certificate: certificate, tls_key: key, tls_client_ca: clientCa } = values
  return certificate === undefined || key === undefined ? undefined : { certificate, key, clientCa }
}

function rateLimitOf(
  { rate_limit: perSecond, rate_burst: given }: Values<typeof OPTIONS>,
  { keep, workers }: Pick<ComponentContext, "keep" | "workers">,
): RateLimit | undefined {
  if (perSecond === undefined) return undefined
  // each process lets its share in; a burst of less than one event would let none in
  const burst = Math.max(1, Math.floor((given ?? Math.ceil(perSecond)) / workers))
  const limit = { perSecond: perSecond / workers, burst }
  return keep({ name: "rate limit", wants: limit, open: () => new RateLimit(limit) })
}
