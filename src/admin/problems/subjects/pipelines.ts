import { problemId, type ProblemKind } from "../finding.ts"
import type { ProblemSubject } from "../subject.ts"
import { CONNECTION_DOWN, SPOOL_DOWN } from "./connections.ts"
import { STORE_DOWN } from "./stores.ts"

const PIPELINE_DOWN: ProblemKind = {
  name: "pipeline_down",
  severity: "error",
  runbook: "HooklinePartlyReady",
  nextStep: "Bring back what its source needs, such as the list of its sender's addresses; the log names it.",
}

/** Pipelines that accept no events, where neither their connection nor a store explains that. */
export const pipelines: ProblemSubject = {
  kinds: [PIPELINE_DOWN],
  *find({ readiness, pipeline }) {
    const stores = [...readiness.stores].flatMap(([name, problem]) =>
      problem === undefined ? [] : problemId(STORE_DOWN, name),
    )
    for (const [id, problem] of readiness.pipelines) {
      const { connection } = pipeline(id) ?? {}
      if (problem === undefined || connection === undefined) continue
      yield {
        kind: PIPELINE_DOWN,
        subject: id,
        pipeline: id,
        cause: `Pipeline ${id} accepts no events: ${problem}`,
        because: [problemId(CONNECTION_DOWN, connection), problemId(SPOOL_DOWN, connection), ...stores],
      }
    }
  },
}
