import { isPostgresUrl, POSTGRES_FORM } from "../../addresses/postgres-url.ts"
import { duration, file, integer, text } from "../../config/options/option-types.ts"
import { deliveryTimeout } from "../define-connection.ts"
import { lasting } from "../lasting-option.ts"

/** The options of a log in PostgreSQL. */
export const OPTIONS = {
  postgres: text({
    secret: true,
    accepts: isPostgresUrl,
    form: POSTGRES_FORM,
    doc: "The database that has the log. Without `sslmode` a server that is not on this machine has to prove by TLS who it is (`verify-full`); docs/postgres.md.",
  }),
  postgres_ca: file({
    optional: true,
    doc: "PEM file with the CAs that the server's certificate is checked against, instead of the public ones.",
  }),
  schema: text({
    default: "hookline",
    pattern: /^[a-z_][a-z0-9_]{0,62}$/,
    form: "a name of lower-case letters, digits and _",
    doc: "The schema that has the log's tables; `hookline db init` creates it.",
  }),
  partitions: integer({
    min: 1,
    max: 100,
    default: "1",
    doc: "Partitions of each topic. A larger number adds partitions, also to existing topics.",
  }),
  retention: lasting(
    duration({ minMs: 1000, doc: "" }),
    "How long events are kept, by the clock of this machine; then they are deleted, from the front of each partition.",
    "reopen",
  ),
  delivery_timeout: deliveryTimeout,
}
