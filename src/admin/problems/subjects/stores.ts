import type { ProblemKind } from "../finding.ts"
import type { ProblemSubject } from "../subject.ts"

export const STORE_DOWN: ProblemKind = {
  name: "store_down",
  severity: "error",
  runbook: "HooklineDeduplicatorUnavailable",
  nextStep: "Bring the store back; Hookline reconnects by itself.",
}

const LISTENER_CLOSED: ProblemKind = {
  name: "listener_closed",
  severity: "error",
  runbook: "HooklineNotReady",
  nextStep: "See who holds connections (ss -tn), and raise max_connections if they are legitimate.",
}

/** The stores of Deduplicators, and the ports. */
export const stores: ProblemSubject = {
  kinds: [STORE_DOWN, LISTENER_CLOSED],
  *find({ readiness: { stores, listeners = [] } }) {
    for (const [name, problem] of stores)
      if (problem !== undefined)
        yield { kind: STORE_DOWN, subject: name, cause: `The dedupe store ${name} can't be used: ${problem}` }
    for (const [name, problem] of listeners)
      if (problem !== undefined) yield { kind: LISTENER_CLOSED, subject: name, cause: problem }
  },
}
