import { deliveryTimeout } from "./delivery-timeout.ts"
import { parseEndpoint } from "./endpoint.ts"
import { checkSasl, SASL } from "./kafka-sasl.ts"
import { custom, duration, file, list, oneOf, path, size, text } from "../options/option-types.ts"
import { defineSection, type Checking } from "../options/section.ts"

/** A connection to Apache Kafka. Keys are named as librdkafka names them. */
export const KAFKA = defineSection({
  title: "Kafka connection",
  aliases: [],
  summary:
    "`[connection:<id>]` with `bootstrap_servers`: events are published to Apache Kafka, with acks=all and idempotence.",
  options: {
    bootstrap_servers: list(
      text({ accepts: (server) => (parseEndpoint(server)?.port ?? 0) > 0, form: "host:port", doc: "" }),
      { doc: "Brokers to connect to first, as host:port; the others are discovered through them." },
    ),
    security_protocol: oneOf(["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"], {
      default: "plaintext",
      doc: "Whether the connection is encrypted (`ssl`) and whether the client authenticates (`sasl`).",
    }),
    ...SASL,
    ssl_ca_location: file({
      optional: true,
      doc: "PEM file with the CAs that brokers' certificates are checked against, instead of the public ones.",
    }),
    ssl_certificate_location: file({
      optional: true,
      doc: "PEM file with the client's certificate, with `ssl_key_location`.",
    }),
    ssl_key_location: file({
      optional: true,
      doc: "PEM file with the client's private key, with `ssl_certificate_location`.",
    }),
    compression_type: oneOf(["none", "gzip", "snappy", "lz4", "zstd"], {
      default: "none",
      doc: "How batches are compressed; from 16 KiB on, gzip and zstd do so beside the event loop.",
    }),
    max_request_bytes: size({
      min: 16_384,
      max: 104_857_600,
      default: "1000000",
      doc: "Bytes of records per request to a broker; a larger record is sent alone. It must be below the brokers' `socket.request.max.bytes`. For a broker that closes the connection on large requests it is halved until one is answered.",
    }),
    connections_max_idle: duration({
      minMs: 100,
      maxMs: 86_400_000,
      default: "3m",
      doc: "A broker connection idle for this long is closed and reopened. It must be below the time after which a NAT or load balancer forgets idle connections (Azure: 4 minutes) and the brokers' `connections.max.idle.ms`.",
    }),
    client_id: text({ default: "hookline", doc: "The name that brokers see in their logs and quotas." }),
    delivery_timeout: deliveryTimeout,
    spool: fileOrOff(
      "A file that stores events durably while Kafka is unavailable; they are acknowledged and forwarded later. Its folder is created if missing; `.lock`, `.pid`, `.reserve` (8 MiB), `-wal` and `-shm` lie beside it. One process uses it at a time.",
    ),
    spool_max_bytes: size({
      min: 1,
      default: "1GiB",
      reload: "live",
      doc: "Capacity of the spool in bytes of events, keys and headers; beyond it senders get 503.",
    }),
  },
  check(checking) {
    checkSasl(checking, checking.values.security_protocol)
    checkSsl(checking)
    const { values, isGiven, wrong } = checking
    if (isGiven("spool_max_bytes") && values.spool === "off")
      wrong("spool_max_bytes", "has no effect without a spool; add spool = <file>, or remove this")
  },
})

/** A path, or `off`. */
function fileOrOff(doc: string) {
  const file = path({ doc: "" })
  return custom<string, { doc: string; default: string }>(
    `off, or ${file.form}`,
    { default: "off", doc },
    (value, context) => (/^off$/i.test(value) ? "off" : file.parse(value, context)),
    (given) => (given === "off" ? given : file.fromCode(given)),
  )
}

type KafkaChecking = Checking<(typeof KAFKA)["options"]>

function checkSsl({ values: { security_protocol: protocol }, isGiven, wrong }: KafkaChecking): void {
  if (protocol === "plaintext" || protocol === "sasl_plaintext") {
    const encrypted = protocol === "plaintext" ? "ssl" : "sasl_ssl"
    for (const key of ["ssl_ca_location", "ssl_certificate_location", "ssl_key_location"] as const) {
      if (isGiven(key))
        wrong(key, `has no effect with security_protocol = ${protocol}; set it to ${encrypted}`)
    }
  }
  const [certificate, key] = ["ssl_certificate_location", "ssl_key_location"] as const
  if (isGiven(key) && !isGiven(certificate)) wrong(key, `requires ${certificate}`)
  if (isGiven(certificate) && !isGiven(key)) wrong(certificate, `requires ${key}`)
}
