import { hideSegments } from "../process/hidden-segments.ts"
import { isIP } from "node:net"
import { duration, file, integer, list, number, size, text } from "../config/options/option-types.ts"
import type { OptionSet, Values } from "../config/options/option-types.ts"
import { addressTest, parseNetwork } from "../addresses/addresses.ts"
import { isBodiless } from "../http/answer.ts"
import { tokenBucket, type RateLimit } from "../http/admission/rate-limit.ts"
import { UnverifiedLimit } from "../addresses/unverified-limit.ts"
import { parsePublicUrl } from "../http/public-url.ts"
import { readTls } from "../http/tls.ts"
import { defineComponent, type ComponentContext } from "./define-component.ts"
import { addressFilter, ALLOW_OPTIONS, checkAllow } from "./webhook-source/allow.ts"

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
    doc: "The path of the webhooks, compared byte for byte, see proxies.md. `/hooks/*` is every path below `/hooks/`; an exact path wins, then the longest prefix.",
  }),
  host: text({
    default: "0.0.0.0",
    pattern: /^[^\s/[\]]+$/,
    accepts: (host) => !host.includes(":") || isIP(host) === 6,
    form: "a host name or an address, an IPv6 one without brackets",
    doc: "Address of this machine to listen on; `::` is every address, IPv6 included.",
  }),
  max_body_bytes: size({
    default: "1MiB",
    min: 1,
    max: 1024 ** 3,
    doc: "The largest body accepted, before and after decompression; a larger one gets 413. For a preset whose sender is known to send larger ones (see providers.md) the default is its largest, but no more than `max_request_bytes` of the connection and `max_in_flight_bytes` take.",
  }),
  delivery_timeout: duration({
    minMs: 1,
    maxMs: 3_600_000,
    optional: true,
    doc: "How long an event may take from the arrival of its body to the broker's acknowledgement; after that the sender gets 503. Default: the connection's `delivery_timeout`; where that is not set and the preset's sender is known to give up earlier (see providers.md), less than it waits: 2500ms for one that waits 3 s.",
  }),
  response_status: integer({
    min: 200,
    max: 299,
    default: "200",
    doc: "Status of the answer when the event is published; several providers accept only 200 (see providers.md).",
  }),
  response_body: text({ default: "", doc: "Body of that answer." }),
  response_content_type: text({
    optional: true,
    pattern: /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/,
    form: "a content type such as application/json",
    doc: "Content type of that answer.",
  }),
  probe: integer({
    min: 200,
    max: 299,
    optional: true,
    doc: "Status of the empty answer to GET and HEAD, for senders and monitors that look whether the URL is reached; nothing is published, and the preset's own handshakes come first. Default: HEAD gets 200, GET 405.",
  }),
  content_types: list(mediaType, {
    optional: true,
    doc: "Accepted media types; others get 415. Default: any.",
  }),
  expect_every: duration({
    minMs: 1000,
    maxMs: 90 * 86_400_000,
    optional: true,
    doc: "How often an event is expected at least. Without one for longer, a log line, the page and the metric `hookline_pipeline_silent` say so. Default: silence is not noticed.",
  }),
  rate_limit: number({
    min: 0.001,
    max: 1_000_000,
    optional: true,
    doc: "Events accepted per second, 0.5 for one in two seconds; others get 429 with Retry-After. Where senders are verified, only verified events count. Each replica has this limit, or with `[service] redis` all of them together. Default: unlimited.",
  }),
  rate_burst: integer({
    min: 1,
    max: 1_000_000,
    optional: true,
    needs: "rate_limit",
    doc: "Events accepted at once after a pause. Default: as many as `rate_limit` allows in a second, at least 1.",
  }),
  unverified_rate_limit: number({
    min: 0.001,
    max: 1_000_000,
    default: "100",
    doc: "Requests per second of one address, or one IPv6 /64, that may fail verification; a larger or slower one counts as one per 16 KiB of its body, or per second that it took. Beyond the limit a request that is not verified gets 429 with Retry-After, before its body is read where it has no signature or token; one that is verified is accepted. Where verifying takes public keys, the network or decompressing, all requests of the address get 429, unless it sent a verified event within the last minute. For pipelines with a Verifier.",
  }),
  ...ALLOW_OPTIONS,
  trusted_proxies: list(network, {
    optional: true,
    doc: "Addresses and networks of the proxies whose X-Forwarded-For counts as the sender's address, and whose X-Forwarded-Proto and X-Forwarded-Host as the URL.",
  }),
  public_url: text({
    optional: true,
    accepts: (value) => parsePublicUrl(value) !== undefined,
    form: "a URL such as https://hooks.example.com or https://hooks.example.com/path",
    doc: "The URL that senders use, for providers that sign it: an origin, to which each request's path and query are appended, or one with a path, which replaces the request's. Default: from the Host header, or X-Forwarded-Proto and X-Forwarded-Host of `trusted_proxies`.",
  }),
  tls_certificate: file({
    optional: true,
    needs: "tls_key",
    doc: "A PEM file with the certificate and its chain; with it the port speaks HTTPS.",
  }),
  tls_key: file({
    optional: true,
    needs: "tls_certificate",
    doc: "A PEM file with the certificate's key.",
  }),
  tls_client_ca: file({
    optional: true,
    needs: "tls_certificate",
    doc: "A PEM file with the CAs of client certificates; with it every sender must present one.",
  }),
} satisfies OptionSet

/** Receives webhooks over HTTP. */
export const webHookSource = defineComponent({
  kind: "source",
  name: "WebHookSource",
  summary: "Receives webhooks over HTTP and answers them once they are durably published.",
  options: OPTIONS,
  check(checking) {
    checkAllow(checking)
    hideSegments(checking.values.path ?? "", checking.substituted("path"))
    const { response_status: status, response_body: body } = checking.values
    if (status !== undefined && isBodiless(status) && body !== undefined && body !== "")
      checking.wrong(
        "response_body",
        `an answer of status ${status} has no body; leave it out, or set another status`,
      )
  },
  verifies: ({ tls_client_ca }) => tls_client_ca !== undefined,
  create(values, context) {
    const { pipeline, acquire, deliveryTimeoutMs, sharedLimits } = context
    const { response_status: status, response_body: body, response_content_type: contentType } = values
    const tls = readTls(values)
    const { allows, problem } = addressFilter(values, context)
    const perAddress = { perSecond: values.unverified_rate_limit }
    const unverifiedLimit = acquire({
      name: "unverified rate limit",
      config: perAddress,
      open: () => new UnverifiedLimit(perAddress),
    })
    return (handler) => ({
      pipeline,
      host: values.host,
      port: values.port,
      path: values.path,
      maxBodyBytes: values.max_body_bytes,
      contentTypes: values.content_types?.map((type) => type.toLowerCase()),
      allows,
      ...(problem && { problem }),
      trustsProxy: values.trusted_proxies && addressTest(values.trusted_proxies),
      publicUrl: values.public_url === undefined ? undefined : parsePublicUrl(values.public_url),
      tls,
      rateLimit: rateLimitOf(values, { pipeline, acquire, sharedLimits }),
      unverifiedLimit,
      limits: {
        rate: `rate_limit = ${values.rate_limit}, rate_burst = ${burstOf(values)}`,
        unverified: `unverified_rate_limit = ${values.unverified_rate_limit}`,
      },
      deliveryTimeoutMs,
      response: { status, body, contentType },
      probeStatus: values.probe,
      handler,
    })
  },
})

const burstOf = ({ rate_limit = 0, rate_burst = Math.ceil(rate_limit) }: Values<typeof OPTIONS>): number =>
  rate_burst

function rateLimitOf(
  values: Values<typeof OPTIONS>,
  context: Pick<ComponentContext, "pipeline" | "acquire" | "sharedLimits">,
): RateLimit | undefined {
  const { rate_limit: perSecond } = values
  if (perSecond === undefined) return undefined
  const { pipeline, acquire, sharedLimits } = context
  const rate = { perSecond, burst: burstOf(values) }
  if (sharedLimits !== undefined) return sharedLimits.limit(pipeline, rate)
  return acquire({ name: "rate limit", config: rate, open: () => tokenBucket(rate) })
}
