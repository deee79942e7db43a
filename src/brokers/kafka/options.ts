import type { Values } from "../../config/options/option-types.ts"
import type { KAFKA } from "../../config/sections/kafka-connection.ts"

/** The keys of `[connection:<id>]` for Kafka, resolved. */
export type KafkaOptions = Omit<
  Values<(typeof KAFKA)["options"]>,
  "delivery_timeout" | "spool" | "spool_max_bytes"
>
