import { message, type Message } from "../../message.ts"
import { deliveryTimeout } from "../define-connection.ts"
import { parseEndpoint } from "../../addresses/endpoint.ts"
import { checkOauth, SASL } from "./auth/sasl-options.ts"
import {
  custom,
  duration,
  file,
  list,
  oneOf,
  path,
  size,
  text,
  type Values,
} from "../../config/options/option-types.ts"
import { type Checking, only } from "../../config/declarations.ts"

/** What `max_request_bytes` is where it is not set: Event Hubs closes the connection on requests over 1,046,528 bytes. */
export const DEFAULT_REQUEST_BYTES = 1_000_000

/** The options of a Kafka connection, named as librdkafka names them. */
export const OPTIONS = {
  bootstrap_servers: list(
    text({ accepts: (server) => (parseEndpoint(server)?.port ?? 0) > 0, form: "host:port", doc: "" }),
    { doc: "Brokers to connect to first, as host:port; the others are discovered through them." },
  ),
  security_protocol: oneOf(["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"], {
    default: "plaintext",
    doc: "Whether the connection is encrypted (`ssl`) and whether the client authenticates (`sasl`).",
  }),
  ...SASL,
  ...only(
    { security_protocol: ["ssl", "sasl_ssl"] },
    {
      ssl_ca_location: file({
        optional: true,
        doc: "PEM file with the CAs that brokers' certificates are checked against, instead of the public ones.",
      }),
      ssl_certificate_location: file({
        optional: true,
        needs: "ssl_key_location",
        doc: "PEM file with the client's certificate.",
      }),
      ssl_key_location: file({
        optional: true,
        needs: "ssl_certificate_location",
        doc: "PEM file with the client's private key.",
      }),
    },
  ),
  compression_type: oneOf(["none", "gzip", "snappy", "lz4", "zstd"], {
    default: "none",
    doc: "How batches are compressed; from 16 KiB on, gzip and zstd do so beside the event loop.",
  }),
  max_request_bytes: size({
    min: 16_384,
    max: 104_857_600,
    optional: true,
    doc: "Bytes of records per request to a broker; a larger record is sent alone. It must be below the brokers' `socket.request.max.bytes`. Unset: 1,000,000, and up to 16 MiB at a time for a broker that takes over half a second to acknowledge, as long as larger requests bring more. For a broker that closes the connection on large requests it is halved until one is answered.",
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
    only: { spool: "on" },
    doc: "Capacity of the spool in bytes of events, keys and headers; beyond it senders get 503.",
  }),
}

/** The options of the client itself. */
export type KafkaOptions = Omit<Values<typeof OPTIONS>, "delivery_timeout" | "spool" | "spool_max_bytes">

/** The rules across options. */
export function checkOptions(checking: Checking<typeof OPTIONS>): void {
  if (checking.values.security_protocol?.startsWith("sasl_")) checkOauth(checking)
}

/** A path, or `off`. */
function fileOrOff(doc: string) {
  const file = path({ doc: "" })
  return custom<string, { doc: string; default: string; formOn: Message }>(
    message`off, or ${file.form}`,
    { default: "off", formOn: file.form, doc },
    (value, context) => (/^off$/i.test(value) ? "off" : file.parse(value, context)),
    (given) => (given === "off" ? given : file.fromCode(given)),
  )
}
