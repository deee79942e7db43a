import type { ConfigurationState } from "../../../telemetry/gauges.ts"
import type { ProblemKind } from "../finding.ts"
import type { ProblemSubject } from "../subject.ts"

const RELOAD_FAILED: ProblemKind = {
  name: "reload_failed",
  severity: "error",
  runbook: "HooklineReloadFailed",
  nextStep: "Mend the file before the next restart (hookline check lists every problem), and reload.",
}

/** Why the configuration on disk does not start, and which one is active; undefined: the last reload did not fail. */
export const failedReload = ({ problem, loadedAtMs }: ConfigurationState): string | undefined =>
  problem === undefined
    ? undefined
    : `The configuration on disk does not start: ${problem}; the one loaded at ${new Date(loadedAtMs).toISOString()} is active`

/** The last reload. */
export const configuration: ProblemSubject = {
  kinds: [RELOAD_FAILED],
  *find({ configuration }) {
    const cause = failedReload(configuration)
    if (cause !== undefined) yield { kind: RELOAD_FAILED, cause }
  },
}
