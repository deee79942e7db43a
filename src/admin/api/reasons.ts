import { unanswered } from "../admin-client.ts"
import { keepersOf, type CaptureDeps } from "./captures.ts"
import { wordsOf } from "./reason-words.ts"
import { route, type ApiRoute } from "./route.ts"
import { Type } from "./shape.ts"
import { ReasonTally } from "./shapes.ts"

/** Of ten thousand pipelines those that were refused last are listed. */
const MOST_LISTED = 500

export const reasonsRoute = (deps: CaptureDeps): ApiRoute =>
  route("GET /api/reasons", {
    summary:
      "How many requests were refused and dropped by pipeline and reason, captured or not, since the start or since they were forgotten; the last ones first.",
    query: Type.Object({ pipeline: Type.Optional(Type.String({ maxLength: 249 })) }),
    response: Type.Array(ReasonTally),
    async answer({ query: { pipeline }, request }) {
      const { service, replicas } = keepersOf(deps, request)
      const path = `reasons${pipeline === undefined ? "" : `?${new URLSearchParams({ pipeline })}`}`
      const others = [...service.workers(), ...replicas].map((it) =>
        it.ask<ReasonTally[]>(path).catch(unanswered),
      )
      const own = [...(service.receiver?.captures.tallies ?? [])].map(
        ({ detail = null, firstMs, lastMs, ...it }): ReasonTally => ({
          ...it,
          words: wordsOf(it.reason),
          detail,
          first_at: firstMs,
          last_at: lastMs,
        }),
      )
      return merged([own, ...(await Promise.all(others))].flatMap((it) => it ?? []))
        .filter((it) => (pipeline ?? it.pipeline) === it.pipeline)
        .toSorted((a, b) => b.last_at - a.last_at)
        .slice(0, MOST_LISTED)
    },
  })

/** The tallies of all processes, one for each pipeline, outcome and reason. */
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
