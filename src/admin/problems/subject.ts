import type { ExtensionState } from "../extension-state.ts"
import type { History } from "../history.ts"
import type { Replica } from "../replicas.ts"
import type { ForwardInfo, PipelineInfo, Readiness } from "../service.ts"
import type { ConfigurationState } from "../../telemetry/gauges.ts"
import type { Finding, ProblemKind } from "./finding.ts"

/** The state that problems are found by: the service now, and what was counted in the last minutes. */
export interface Evidence {
  readonly readiness: Readiness
  readonly configuration: ConfigurationState
  readonly history: Pick<History, "of" | "pipelines">
  readonly pipeline: (id: string) => PipelineInfo | undefined
  readonly forwards: readonly ForwardInfo[]
  readonly extensions: readonly ExtensionState[]
  readonly replicas: readonly Replica[]
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/** A subject, such as connections, and what may be wrong with it. */
export interface ProblemSubject {
  readonly kinds: readonly ProblemKind[]
  find(evidence: Evidence): Iterable<Finding>
}
