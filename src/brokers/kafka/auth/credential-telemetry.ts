import type { KafkaMetrics } from "../../../telemetry/connection-metrics.ts"
import type { Logger } from "../../../telemetry/log.ts"

/** Where tokens and certificates report their renewals; a client that is opened for a moment has none. */
export interface CredentialTelemetry {
  readonly log: Pick<Logger, "warn" | "info">
  readonly metrics: Pick<KafkaMetrics, "incident">
}
