import { ageOf } from "../../clock/age.ts"
import { FIVE_MINUTES, MINUTE, STEP_MS, type PipelineHistory } from "../pipeline-history.ts"
import { problemId } from "../problems/finding.ts"
import type { ProblemList } from "../problems/problem-list.ts"
import { CONNECTION_DOWN } from "../problems/subjects/connections.ts"
import type { PipelineInfo, Readiness, Service } from "../service.ts"
import { wordsOf } from "./reason-words.ts"
import type { PipelineState } from "./shapes.ts"

/** The states of pipelines at one time. */
export function pipelineStates(
  service: Pick<Service, "extensions">,
  readiness: Pick<Readiness, "pipelines" | "impaired">,
  listed: Pick<ProblemList, "since">,
  now: number,
): (pipeline: PipelineInfo, history: PipelineHistory) => PipelineState {
  const problems = new Map(readiness.pipelines)
  // by connection and topic
  const impaired = new Map(
    [...readiness.impaired].flatMap(([id, texts]) =>
      texts.map((text) => [`${id}/${/^topic ([\w.-]+)/.exec(text)?.[1]}`, text] as const),
    ),
  )
  const watched = new Map(service.extensions().flatMap((it) => [...(it.pipelineStates?.() ?? [])]))
  return ({ id, connection, topic }, history) => {
    const problem = problems.get(id)
    if (problem !== undefined)
      return {
        name: "down",
        words: problem,
        since: listed.since(problemId(CONNECTION_DOWN, connection)) ?? null,
      }
    // a topic may be impaired in part: while events are accepted, it is not down
    const ofTopic = impaired.get(`${connection}/${topic}`)
    if (ofTopic !== undefined && history.counts(MINUTE - 1).accepted === 0)
      return { name: "down", words: ofTopic, since: null }
    const refusal = mostRefused(history)
    if (refusal !== undefined) return { name: "refusing", words: wordsOf(refusal), since: null }
    const { unverified } = history
    if (unverified !== undefined)
      return { name: "refusing", words: wordsOf(unverified.reason), since: unverified.firstMs }
    const noticed = watched.get(id)
    if (noticed !== undefined) return noticed
    const pauseMs = watched.has(id) ? undefined : history.brokenHabit(now)
    if (pauseMs !== undefined) {
      const words = `events came at least every ${ageOf(Math.max(STEP_MS, pauseMs))} before`
      return { name: "silent", words, since: history.lastMs ?? null }
    }
    const { accepted, dropped } = history.counts(FIVE_MINUTES)
    return { name: accepted + dropped > 0 ? "receiving" : "idle", words: null, since: null }
  }
}

/** The most frequent reason where at least half of what came last was refused. */
function mostRefused(history: PipelineHistory): string | undefined {
  for (const steps of [MINUTE - 1, FIVE_MINUTES]) {
    const { accepted, dropped } = history.counts(steps)
    const refusals = history.refusals(steps).filter(([reason]) => !history.isOfScanners(reason))
    const refused = refusals.reduce((sum, [, count]) => sum + count, 0)
    if (accepted + dropped + refused === 0) continue
    return refused >= accepted + dropped ? refusals[0]?.[0] : undefined
  }
  return undefined
}
