import { textOfAdvice } from "../../verify/explanation.ts"
import { isToAnswerAlone, unanswered } from "../admin-client.ts"
import type { Sampler } from "../sampler.ts"
import type { Service } from "../service.ts"
import { keepersOf } from "./captures.ts"
import { POINTS, type OverviewDeps } from "./overview.ts"
import { wordsOf } from "./reason-words.ts"
import { route, type ApiRoute } from "./route.ts"
import { Type } from "./shape.ts"
import { ReasonTally } from "./shapes.ts"

/** Of ten thousand pipelines those that were refused last are listed. */
const MOST_LISTED = 500

export const reasonsRoute = (deps: OverviewDeps): ApiRoute =>
  route("GET /api/reasons", {
    summary:
      "How many requests were refused and dropped by pipeline and reason, captured or not, since the start or since they were forgotten; the last ones first.",
    query: Type.Object({ pipeline: Type.Optional(Type.String({ maxLength: 249 })) }),
    response: Type.Array(ReasonTally),
    async answer({ query: { pipeline }, request }) {
      const { service, replicas } = keepersOf(deps, request)
      const path = `reasons${pipeline === undefined ? "" : `?${new URLSearchParams({ pipeline })}`}`
      const others = replicas.map((it) => it.ask<ReasonTally[]>(path).catch(unanswered))
      const all = [talliesOf(service), ...(await Promise.all(others))].flatMap((it) => it ?? [])
      const tallies = merged(all).filter((it) => (pipeline ?? it.pipeline) === it.pipeline)
      // a replica that is asked by another one has only its own part, of which the other one needs all
      if (isToAnswerAlone(request)) return tallies
      const last = tallies.toSorted((a, b) => b.last_at - a.last_at).slice(0, MOST_LISTED)
      return completed(last, deps.sampler)
    },
  })

/** Of this replica, the last reason that was new first. */
const talliesOf = ({ receiver }: Service): ReasonTally[] =>
  [...receiver.captures.tallies].toReversed().map(({ detail = null, firstMs, lastMs, ...it }) => ({
    ...it,
    words: wordsOf(it.reason),
    detail,
    first_at: firstMs,
    last_at: lastMs,
    advice: textOfAdvice(it.reason, it.status) ?? null,
    sparkline: [],
    verified: null,
  }))

/** The tallies of all replicas, one for each pipeline, outcome and reason. */
function merged(tallies: readonly ReasonTally[]): ReasonTally[] {
  const byKey = Map.groupBy(tallies, (it) => `${it.pipeline ?? ""}\n${it.outcome}\n${it.reason}`)
  return [...byKey.values()].map((all) =>
    all.reduce((a, b) => ({
      ...(a.last_at > b.last_at ? a : b),
      count: a.count + b.count,
      first_at: Math.min(a.first_at, b.first_at),
    })),
  )
}

/** With what the counters of all replicas say. */
async function completed(tallies: readonly ReasonTally[], sampler: Sampler): Promise<ReasonTally[]> {
  const history = await sampler.fresh()
  const unverified = new Set(tallies.filter(isUnverified).map(({ pipeline }) => pipeline))
  // accepted and dropped events were verified
  const verified = new Map<string | null, number>()
  for (const { events } of sampler.samples)
    for (const { pipeline, outcome, count } of events)
      if (unverified.has(pipeline) && (outcome === "accepted" || outcome === "dropped"))
        verified.set(pipeline, (verified.get(pipeline) ?? 0) + count)
  return tallies.map((it) => {
    const ofPipeline = history.of(it.pipeline ?? "")
    return {
      ...it,
      sparkline: ofPipeline.sparklineOf(it.outcome, it.reason, POINTS),
      verified: isUnverified(it)
        ? { count: verified.get(it.pipeline) ?? 0, last_at: ofPipeline.lastMs ?? null }
        : null,
    }
  })
}

const isUnverified = ({ reason, status }: ReasonTally): boolean =>
  status === 401 && reason.startsWith("unverified_")
