import type { Finding, ProblemKind } from "../../admin/problems/finding.ts"
import type { ReconcileInfo } from "./info.ts"

const NOT_RECONCILING: ProblemKind = {
  name: "not_reconciling",
  severity: "warning",
  runbook: "HooklineNotReconciling",
  nextStep:
    "Replace credentials that have expired or lack a permission; hookline reconcile --dry-run shows what the API answers.",
}

const ENDPOINT_NOT_READY: ProblemKind = {
  name: "endpoint_not_ready",
  severity: "error",
  runbook: "HooklineEndpointNotReady",
  nextStep: "Mend why deliveries failed, then enable it: hookline reconcile --enable, or the sender's page.",
}

const EVENTS_MISSING: ProblemKind = {
  name: "events_missing",
  severity: "warning",
  runbook: "Events missing",
  nextStep: "Wait until the sender has delivered them again; Hookline asks for them.",
}

const UNRECOVERABLE: ProblemKind = {
  name: "unrecoverable",
  severity: "error",
  runbook: "HooklineUnrecoverable",
  nextStep: "Mend what refuses them, then have the sender deliver them again on its own page.",
}

export const RECONCILE_PROBLEMS: readonly ProblemKind[] = [
  NOT_RECONCILING,
  ENDPOINT_NOT_READY,
  EVENTS_MISSING,
  UNRECOVERABLE,
]

/** Finds what is wrong with a section. */
export function* problemsOf(it: ReconcileInfo): Iterable<Finding> {
  const { id, pipeline, problem, endpoint, window, isElsewhere } = it
  if (isElsewhere) return
  const of = { subject: id, pipeline }
  if (problem !== undefined)
    yield { ...of, kind: NOT_RECONCILING, cause: `Can't reconcile ${id}: ${problem}` }
  if (endpoint !== undefined) yield { ...of, kind: ENDPOINT_NOT_READY, cause: `${id}: ${endpoint}` }
  const { open = 0, unrecoverable = 0 } = window ?? {}
  const events = (some: number): string => `${some.toLocaleString("en")} events of ${id}`
  if (open > 0) yield { ...of, kind: EVENTS_MISSING, cause: `${events(open)} are to be asked for.` }
  if (unrecoverable > 0)
    yield { ...of, kind: UNRECOVERABLE, cause: `${events(unrecoverable)} could not be recovered.` }
}
