import type { Finding, ProblemKind } from "./finding.ts"
import type { Evidence, ProblemSubject } from "./subject.ts"
import { configuration } from "./subjects/configuration.ts"
import { connections } from "./subjects/connections.ts"
import { forwards } from "./subjects/forwards.ts"
import { pipelines } from "./subjects/pipelines.ts"
import { replicas } from "./subjects/replicas.ts"
import { requests } from "./subjects/requests.ts"
import { stores } from "./subjects/stores.ts"

const SUBJECTS: readonly ProblemSubject[] = [
  configuration,
  connections,
  stores,
  pipelines,
  requests,
  forwards,
  replicas,
]

/** Every kind of problem, but those of extensions. */
export const PROBLEM_KINDS: readonly ProblemKind[] = SUBJECTS.flatMap(({ kinds }) => kinds)

/** Everything that is wrong now, with the consequences of what is wrong. */
export function* findProblems(evidence: Evidence): Iterable<Finding> {
  for (const { find } of SUBJECTS) yield* find(evidence)
  for (const extension of evidence.extensions) yield* extension.problems()
}
