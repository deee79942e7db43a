import { parseTopicPlace } from "../../../config/declarations.ts"
import { problemId, type ProblemKind } from "../finding.ts"
import type { ProblemSubject } from "../subject.ts"
import { CONNECTION_DOWN } from "./connections.ts"

const FORWARD_FAILED: ProblemKind = {
  name: "forward_failed",
  severity: "warning",
  runbook: "Forward failed",
  nextStep: "See that the application answers; records wait meanwhile.",
}

const FORWARD_PAUSED: ProblemKind = {
  name: "forward_paused",
  severity: "warning",
  runbook: "Forward paused",
  nextStep: "Resume it: hookline forwards resume.",
}

/** Deliveries of topics to applications. */
export const forwards: ProblemSubject = {
  kinds: [FORWARD_FAILED, FORWARD_PAUSED],
  *find({ forwards }) {
    for (const { id: subject, from, problem, isElsewhere, isPaused, lag = 0 } of forwards) {
      const because = [problemId(CONNECTION_DOWN, parseTopicPlace(from).connection)]
      if (problem !== undefined && !isElsewhere)
        yield { kind: FORWARD_FAILED, subject, cause: `Can't forward ${subject}: ${problem}`, because }
      if (isPaused && lag > 0)
        yield { kind: FORWARD_PAUSED, subject, cause: `Forward ${subject} is paused, and records wait.` }
    }
  },
}
