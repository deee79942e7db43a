import { blank, message, namedBy } from "../../message.ts"
import { endpointOrOff } from "./endpoint-options.ts"
import { isLoopback, parseEndpoint, type EndpointOptions } from "../../addresses/endpoint.ts"
import { file, integer, list, oneOf, size, text } from "../options/option-types.ts"
import { enumerate } from "../../words.ts"
import { defineSection } from "../options/section.ts"
import { TOPIC_PLACE } from "./topic-place.ts"

const hostName = text({
  pattern: /^\w(?:[\w.-]*\w)?$/,
  form: "a host name, without a port",
  doc: "A host name.",
})

const listedUrl = text({
  pattern: /^(?:\*|https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?)$/i,
  form: "an http or https URL without a query, or *",
  doc: "A URL, or `*`.",
})

const replica = text({
  accepts: (place) => (parseEndpoint(place.replace(/^dns:/, ""))?.port ?? 0) > 0,
  form: "<host>:<port> or dns:<name>:<port>",
  doc: "An admin listener.",
})

export type CaptureMode = "refused" | "all" | "off"

const LEAST_TOKEN_CHARACTERS = 16

/** Why tokens may be guessed, to follow their keys. Quotes nothing of them. */
export const tokenDoubts = (tokens: {
  readonly token?: string | undefined
  readonly read_token?: string | undefined
  readonly replicas_token?: string | undefined
}): readonly (readonly [key: "token" | "read_token" | "replicas_token", doubt: string])[] =>
  (["token", "read_token", "replicas_token"] as const).flatMap((key) => {
    const token = tokens[key]
    if (token === undefined || token.length >= LEAST_TOKEN_CHARACTERS) return []
    const doubt = `has ${token.length} characters, few enough to guess; use a random one of at least ${LEAST_TOKEN_CHARACTERS}, as of openssl rand -hex 16`
    return [[key, doubt] as const]
  })

/** What is captured where `capture` is not set. */
export const captureOf = ({
  listen,
  capture,
}: {
  readonly listen: EndpointOptions | "off"
  readonly capture?: CaptureMode | undefined
}): CaptureMode => (listen === "off" ? "off" : (capture ?? (isLoopback(listen.host) ? "refused" : "off")))

/** Pipelines that have all their metrics by default. */
const MOST_DETAILED = 200

export const DETAIL_WORDS = ["auto", "all", "none"]

/** Which pipelines have all their metrics; the others have totals. @param pipelines how many there are */
export function detailOf(detail: readonly string[], pipelines: number): (id: string) => boolean {
  const [word] = detail
  const isAll = word === "all" || (word === "auto" && pipelines <= MOST_DETAILED)
  return (id) => (detail.length === 1 && isAll) || detail.includes(id)
}

/** The admin listener: probes, metrics, page and API. */
export const ADMIN = defineSection({
  title: "admin",
  aliases: [],
  summary: "The listener for `/healthz`, `/readyz`, `/metrics`, the page and its API; see admin.md.",
  options: {
    listen: endpointOrOff({
      default: "127.0.0.1:9464",
      doc: "Where it listens; `off` turns it off. Requires `token` unless the address is a loopback one.",
    }),
    token: text({
      optional: true,
      secret: true,
      reload: "live",
      doc: "Token that callers must present as `Authorization: Bearer <token>`. Without it every client is served.",
    }),
    read_token: text({
      optional: true,
      secret: true,
      needs: "token",
      reload: "live",
      doc: "A second, read-only token: its holders have the page, the API and metrics, but can't send events, start replays, change the log level or read secrets; see admin.md.",
    }),
    tls_certificate: file({
      optional: true,
      needs: "tls_key",
      reload: "live",
      doc: "A PEM file with the certificate and its chain; with it the listener speaks HTTPS.",
    }),
    tls_key: file({
      optional: true,
      needs: "tls_certificate",
      reload: "live",
      doc: "A PEM file with the certificate's key.",
    }),
    replicas: list(replica, {
      optional: true,
      needs: "replicas_token",
      reload: "live",
      doc: "The admin listeners of all replicas of the service, so that the page and API of each one show all of them: `dns:<name>:<port>` for all addresses of a name, such as a headless Service's, or `<host>:<port>`. This replica may be listed, too. Replicas are asked over TLS if `tls_certificate` is set. See replicas.md.",
    }),
    replicas_token: text({
      optional: true,
      secret: true,
      reload: "live",
      doc: "Token that replicas present to each other, the same in all of them.",
    }),
    audit_topic: text({
      ...TOPIC_PLACE,
      optional: true,
      reload: "live",
      doc: "Topic to which each action is published, with who did it and how it ended: `<connection>/<topic>`; see admin.md. Default: actions are only logged.",
    }),
    replay_urls: list(listedUrl, {
      optional: true,
      reload: "live",
      doc: "URLs of this machine or a private network to which the page and the API may replay, each with the paths below it. `*` allows all. Other URLs have to lead to public addresses; see admin.md.",
    }),
    hosts: list(hostName, {
      optional: true,
      reload: "live",
      doc: "Accepted values of `Host`, in addition to `localhost` and IP addresses; requests with another get 421, against DNS rebinding.",
    }),
    capture: oneOf(["refused", "all", "off"], {
      optional: true,
      reload: "live",
      doc: "Which requests are kept in memory, with headers and body, for the admin page and API and `hookline verify --last`: those refused, all, or none; see admin.md. Default: `refused` where `listen` is a loopback address, else `off`.",
    }),
    capture_max_requests: integer({
      min: 1,
      max: 100_000,
      default: "200",
      reload: "live",
      doc: "How many captured requests are kept; the oldest of the pipeline that has the most go first.",
    }),
    capture_max_bytes: size({
      min: 64 * 1024,
      default: "16MiB",
      reload: "live",
      doc: "How much memory they take. A body over a quarter of it is not kept.",
    }),
    metrics_detail: list(text({ doc: "A pipeline's id, or a word." }), {
      default: "auto",
      reload: "live",
      doc: "Which pipelines have all their metrics: `auto` (all while there are at most 200 pipelines, else none), `all`, `none`, or a list of pipelines. The others have up to fourteen series each, and share histograms; see metrics.md. A pipeline that runs keeps its series until a restart.",
    }),
  },
  check({ values, isGiven, wrong, warn }) {
    const { listen, token, read_token: readToken, replicas_token: replicasToken } = values
    for (const [key, doubt] of tokenDoubts(values)) warn(key, doubt)
    if (readToken !== undefined && readToken === token)
      wrong("read_token", "is the same as token, so that its holders could act; set another one")
    if (replicasToken !== undefined && [token, readToken].includes(replicasToken))
      wrong("replicas_token", "is the same as another token; set one that replicas alone have")
    if (listen === undefined || listen === "off" || isLoopback(listen.host)) return
    if (!isGiven("token"))
      wrong(
        "listen",
        message`is not a loopback address and token is not set; add ${blank("token", "secret")}, or listen on 127.0.0.1`,
      )
    if (!isGiven("tls_certificate"))
      warn(
        "listen",
        message`is not a loopback address, and without TLS others on the network can read the token; set ${namedBy(enumerate, ["tls_certificate", "tls_key"])}, or see that only a proxy with TLS reaches it`,
      )
  },
})
