import { duration } from "../options/option-types.ts"

/** The limit of sinks without a connection to name one. */
export const DEFAULT_DELIVERY_TIMEOUT_MS = 5000

/** An option of every kind of connection. */
export const deliveryTimeout = duration({
  minMs: 1,
  maxMs: 3_600_000,
  default: "5s",
  reload: "live",
  doc: "How long an event may take from the arrival of its body to the broker's acknowledgement; after that the sender gets 503.",
})
