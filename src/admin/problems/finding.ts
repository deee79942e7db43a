import type { ServiceProblem } from "../api/problem-shapes.ts"

/** A kind of problem. */
export interface ProblemKind {
  /** A word that stays the same from release to release. */
  readonly name: string
  readonly severity: ServiceProblem["severity"]
  /** The heading of its section of docs/runbook.md. */
  readonly runbook: string
  /** The first thing to do, in a sentence. */
  readonly nextStep: string
}

/** A problem that is there now. */
export interface Finding extends Partial<Pick<ServiceProblem, "pipeline" | "connection">> {
  readonly kind: ProblemKind
  /** The name of the thing that has the problem. Default: the service. */
  readonly subject?: string
  /** The fault, in a sentence. */
  readonly cause: string
  /** Default: those of its kind. */
  readonly severity?: ServiceProblem["severity"]
  readonly nextStep?: string
  /** Milliseconds since 1970. Default: since it is found. */
  readonly sinceMs?: number
  /** The ids of problems that explain it: while one of them is listed, it is not. */
  readonly because?: readonly string[]
}

/** The id of a problem, which is the same over time and in all replicas. */
export const problemId = ({ name }: ProblemKind, subject?: string): string =>
  subject === undefined ? name : `${name}:${subject}`
