import { deliveryTimeout } from "./delivery-timeout.ts"
import { custom, duration, path, size } from "./options.ts"
import { defineSection } from "./section.ts"

/** A log in a folder of this machine. */
export const EMBEDDED = defineSection({
  title: "Embedded connection",
  aliases: [],
  summary:
    "`[connection:<id>]` with `directory`: events are kept in a log in that folder, durably, without any broker.",
  options: {
    directory: path({
      doc: "The log's folder; it is made when it is not there. One process writes to it at a time.",
    }),
    retention: lasting(
      duration({ minMs: 1000, doc: "" }),
      "How long events are kept, by a clock that a change of the machine's does not make run ahead: docs/retention.md.",
    ),
    retention_bytes: lasting(
      size({ min: 1, doc: "" }),
      "How many bytes of events are kept, over all topics; the oldest go first.",
    ),
    delivery_timeout: deliveryTimeout,
  },
})

/** An option of which `forever` (or `off`) is the absence of a limit: Infinity in code. */
function lasting(limit: ReturnType<typeof duration>, doc: string) {
  return custom<number, { doc: string; default: string }>(
    `forever, or ${limit.form}`,
    { default: "forever", doc },
    (value, context) =>
      /^(?:forever|off)$/i.test(value) ? Number.POSITIVE_INFINITY : limit.parse(value, context),
    (value) => (value === Number.POSITIVE_INFINITY ? undefined : limit.wrong(value)),
  )
}
