/** The Kafka client library, which is imported from here alone, since a load of its own costs more. */
// before the library
import { endDeferral } from "./deferred-validators.ts"
export * from "@platformatic/kafka"

endDeferral()
