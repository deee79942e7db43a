import { Registry } from "prom-client"

/** What a pipeline counts. Handles are bound once, when the pipeline is built. */
export interface PipelineMetrics {
  /** A request was answered; status as sent. */
  answered(status: number): void
  /** An event's way ended. `reason` is a short fixed word, empty for accepted ones. */
  ended(outcome: "accepted" | "dropped" | "rejected", reason: string): void
  /** Milliseconds from receipt to acknowledgement. */
  acknowledged(ms: number): void
}

/** What a connection counts. */
export interface ConnectionMetrics {
  /** A batch was acknowledged: how many records, and the milliseconds from sending to acknowledgement. */
  batch(records: number, ms: number): void
}

export class Metrics {
  readonly registry = new Registry()

  pipeline(_id: string): PipelineMetrics {
    return { answered() {}, ended() {}, acknowledged() {} }
  }

  connection(_id: string): ConnectionMetrics {
    return { batch() {} }
  }
}
