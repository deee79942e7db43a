import { FIVE_MINUTES, MINUTE, STEP_MS, type PipelineHistory } from "../pipeline-history.ts"
import type { Outages } from "../sampler.ts"
import type { PipelineInfo, Readiness, Service } from "../service.ts"
import { ageOf } from "./attention.ts"
import { wordsOf } from "./reason-words.ts"
import type { PipelineState } from "./shapes.ts"

/** The states of pipelines at one time. */
export function pipelineStates(
  service: Pick<Service, "silences">,
  readiness: Pick<Readiness, "pipelines" | "impaired">,
  outages: Outages,
  now: number,
): (pipeline: PipelineInfo, history: PipelineHistory) => PipelineState {
  const problems = new Map(readiness.pipelines)
  // by connection and topic
  const impaired = new Map(
    [...readiness.impaired].flatMap(([id, texts]) =>
      texts.map((text) => [`${id}/${/^topic ([\w.-]+)/.exec(text)?.[1]}`, text] as const),
    ),
  )
  const silences = new Map(service.silences())
  return ({ id, connection, topic }, history) => {
    const problem = problems.get(id)
    if (problem !== undefined)
      return { name: "down", words: problem, since: outages.since(connection) ?? null }
    // a topic may be impaired in part: while events are accepted, it is not down
    const ofTopic = impaired.get(`${connection}/${topic}`)
    if (ofTopic !== undefined && history.counts(MINUTE - 1).accepted === 0)
      return { name: "down", words: ofTopic, since: null }
    const refusal = mostRefused(history)
    if (refusal !== undefined) return { name: "refusing", words: wordsOf(refusal), since: null }
    const { ms = 0, expectedMs = Infinity } = silences.get(id) ?? {}
    if (ms >= expectedMs)
      return { name: "silent", words: `an event is expected every ${ageOf(expectedMs)}`, since: now - ms }
    const pauseMs = expectedMs === Infinity ? history.brokenHabit(now) : undefined
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
    const { accepted, dropped, refused } = history.counts(steps)
    if (accepted + dropped + refused === 0) continue
    return refused >= accepted + dropped ? history.refusals(steps)[0]?.[0] : undefined
  }
  return undefined
}
