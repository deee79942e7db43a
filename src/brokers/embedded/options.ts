import { message, named, namedBy } from "../../message.ts"
import { deliveryTimeout } from "../define-connection.ts"
import { type Checking, endpoint, endpointOrOff, only } from "../../config/declarations.ts"
import { isLoopback } from "../../addresses/endpoint.ts"
import { duration, file, integer, list, path, size, text } from "../../config/options/option-types.ts"
import { enumerate } from "../../words.ts"
import { lasting } from "../lasting-option.ts"

/** The options of a log in a folder. It has one writer and can't be reopened: options other than `directory` are live. */
export const OPTIONS = {
  directory: path({
    doc: "The log's folder, created if missing. One process writes to it at a time.",
  }),
  retention: lasting(
    duration({ minMs: 1000, doc: "" }),
    "How long events are kept, by a clock unaffected by jumps of the system's: docs/retention.md.",
  ),
  retention_bytes: lasting(
    size({ min: 1, doc: "" }),
    "How many bytes of events are kept, over all topics; the oldest go first.",
  ),
  partitions: integer({
    min: 1,
    max: 100,
    default: "1",
    reload: "live",
    doc: "Partitions of each topic, which members of a consumer group share. A larger number adds partitions, also to existing topics; a smaller one is refused.",
  }),
  kafka_listen: endpointOrOff({
    default: "off",
    reload: "live",
    doc: "Where Kafka clients read the log, as in `127.0.0.1:9092`: docs/kafka-clients.md.",
  }),
  ...only(
    { kafka_listen: "on" },
    {
      kafka_advertised: endpoint({
        optional: true,
        reload: "live",
        doc: "The `host:port` that Kafka clients are told to connect to. Default: the address that they have connected to.",
      }),
      kafka_users: list(
        text({
          pattern: /^[^:,\s]+:\S{8,}$/,
          form: "name:password, the password of at least 8 characters without spaces and commas",
          doc: "",
        }),
        {
          optional: true,
          secret: true,
          reload: "live",
          doc: "Who may connect, by SCRAM-SHA-256, SCRAM-SHA-512 or, with TLS, PLAIN. Default: everybody, on a loopback address.",
        },
      ),
      kafka_groups: list(
        text({
          pattern: /^[^:,=\s]+=[^,\s]+$/,
          form: "user=group, or user=prefix* for all that begin so",
          doc: "",
        }),
        {
          optional: true,
          reload: "live",
          doc: "Which consumer groups each user may read with, move, describe and delete, as in `billing=billing-*`; a user without one reads without a group. Default: each user every group.",
        },
      ),
      kafka_tls_certificate: file({
        optional: true,
        needs: "kafka_tls_key",
        reload: "live",
        doc: "A PEM file with the certificate and its chain; with it Kafka clients connect by TLS.",
      }),
      kafka_tls_key: file({
        optional: true,
        needs: "kafka_tls_certificate",
        reload: "live",
        doc: "A PEM file with the certificate's key.",
      }),
    },
    "warning",
  ),
  delivery_timeout: deliveryTimeout,
}

/** Warning of a listener without users. */
export const OPEN_TO_MACHINE = message`every user of this machine can read all topics, and move and delete consumer groups; set ${named("kafka_users")}`
/** The options that a listener takes which others reach. */
const NEEDED = ["kafka_tls_certificate", "kafka_tls_key", "kafka_users"]

/** The rules across options. */
export function checkOptions({ values, isGiven, wrong, warn }: Checking<typeof OPTIONS>): void {
  const { kafka_listen: listen, kafka_users: users, kafka_groups: groups } = values
  const hasTls = isGiven("kafka_tls_certificate") && isGiven("kafka_tls_key")
  if (listen !== undefined && listen !== "off" && !isLoopback(listen.host)) {
    if (!hasTls || !isGiven("kafka_users"))
      wrong(
        "kafka_listen",
        message`is not a loopback address, where Kafka clients need TLS and users; add ${namedBy(enumerate, NEEDED)}, or listen on 127.0.0.1`,
      )
  }
  if (listen !== undefined && listen !== "off" && !isGiven("kafka_users"))
    warn("kafka_listen", OPEN_TO_MACHINE)
  const known = new Set((users ?? []).map((one) => one.slice(0, one.indexOf(":"))))
  const unknown = groups?.map(userOf).find((name) => !known.has(name))
  if (unknown !== undefined)
    wrong(
      "kafka_groups",
      message`${unknown} is not a user of ${named("kafka_users")}; add it there, or correct the name`,
    )
}

/** The user of a `user=group`. */
const userOf = (given: string): string => given.slice(0, given.indexOf("="))
