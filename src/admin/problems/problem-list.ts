import type { ServiceProblem } from "../api/problem-shapes.ts"
import { Acknowledgements } from "./acknowledgements.ts"
import { problemId, type Finding, type ProblemKind } from "./finding.ts"

/*
 * The problems of the service, as the last evaluation found them. A problem is
 *
 *   found  -->  on  -- not found -->  over, listed  -- five minutes -->  forgotten
 *                ^                         |
 *                +--------- found ---------+     with another beginning
 *
 * A finding that is explained by another one is not listed, nor does it end then: it goes. The explanation holds until it is
 * forgotten, since refusals are counted over the last five minutes.
 */

/** The time for which a problem stays listed after its end. */
export const OVER_LISTED_MS = 5 * 60_000
/** One that was over sooner is not listed then: a connection that was being opened. */
const BRIEF_MS = 2000
const MOST = 1000

export class ProblemList {
  #problems: ReadonlyMap<string, ServiceProblem> = new Map()
  #current: readonly ServiceProblem[] = []
  readonly acknowledgements = new Acknowledgements()

  /** Those that are there, errors first, then those that are over, the last first. */
  current(): readonly ServiceProblem[] {
    return this.#current
  }

  /** Returns the beginning of a problem that is there, in milliseconds since 1970. */
  since(id: string): number | undefined {
    const found = this.#problems.get(id)
    return found?.until === null ? found.since : undefined
  }

  /** Counts the problems that are there and not muted by kind and severity; each kind has a count. */
  *counts(kinds: readonly ProblemKind[]): Iterable<readonly [kind: string, severity: string, count: number]> {
    const there = this.#current.filter(({ until, muted }) => until === null && muted === null)
    const byKind = Map.groupBy(there, ({ kind }) => kind)
    for (const { name, severity } of kinds) {
      const bySeverity = Map.groupBy(byKind.get(name) ?? [], (it) => it.severity)
      if (!bySeverity.has(severity)) yield [name, severity, 0]
      for (const [own, { length }] of bySeverity) yield [name, own, length]
    }
  }

  /** Takes all that is found, by one evaluation. @param nowMs milliseconds since 1970 */
  take(findings: Iterable<Finding>, nowMs: number): void {
    const found = new Map<string, Finding>()
    for (const it of findings) {
      const id = problemId(it.kind, it.subject)
      if (!found.has(id) && found.size < MOST) found.set(id, it)
    }
    const before = this.#problems
    const problems = new Map<string, ServiceProblem>()
    for (const [id, problem] of before) {
      const over = { ...problem, until: problem.until ?? nowMs }
      if (found.has(id)) continue
      if (isStillListed(over, nowMs)) problems.set(id, over)
      // what begins again is another one
      if (problem.until === null) this.acknowledgements.ended(id)
    }
    const isListed = (id: string): boolean => found.has(id) || problems.has(id)
    const shown = [...found].filter(([, { because = [] }]) => !because.some(isListed))
    for (const [id, finding] of shown) problems.set(id, problemOf(id, finding, before.get(id), nowMs))
    this.#problems = problems
    const acknowledged = [...problems.values()].map((it) => ({
      ...it,
      ...this.acknowledgements.of(it.id, it.kind, nowMs),
    }))
    this.#current = inOrder(acknowledged)
    this.acknowledgements.refresh()
  }
}

function problemOf(
  id: string,
  { kind, pipeline, connection, cause, severity, nextStep, sinceMs }: Finding,
  before: ServiceProblem | undefined,
  nowMs: number,
): ServiceProblem {
  return {
    id,
    kind: kind.name,
    severity: severity ?? kind.severity,
    pipeline: pipeline ?? null,
    connection: connection ?? null,
    since: sinceMs ?? (before?.until === null ? before.since : nowMs),
    until: null,
    cause,
    next_step: nextStep ?? kind.nextStep,
    acknowledged: null,
    muted: null,
    runbook: `docs/runbook.md#${kind.runbook.toLowerCase().replaceAll(" ", "-")}`,
  }
}

const isStillListed = ({ since, until }: { since: number; until: number }, nowMs: number): boolean =>
  until - since >= BRIEF_MS && nowMs - until < OVER_LISTED_MS

/** True if somebody said that it is known. */
const isKnown = ({ acknowledged, muted }: ServiceProblem): boolean => acknowledged !== null || muted !== null

/**
 * Sorts problems: those that nobody has acknowledged or muted, then the rest of those that are there, then those that are over;
 * errors before warnings, the oldest first, and of those that are over the last first.
 */
export const inOrder = (problems: Iterable<ServiceProblem>): readonly ServiceProblem[] =>
  [...problems].toSorted((a, b) => {
    if (a.until !== null && b.until !== null) return b.until - a.until
    if (a.until !== null || b.until !== null) return a.until === null ? -1 : 1
    if (isKnown(a) !== isKnown(b)) return isKnown(a) ? 1 : -1
    return a.severity.localeCompare(b.severity) || a.since - b.since
  })
