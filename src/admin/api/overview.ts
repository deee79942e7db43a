import { Type } from "./shape.ts"
import { hostname } from "node:os"
import manifest from "../../../package.json" with { type: "json" }
import { steadyMs } from "../../clock/clock.ts"
import { inSlices, inSteps, nextTurn } from "../../clock/slices.ts"
import { unanswered } from "../admin-client.ts"
import { rounded, STEP_MS, STEPS, type PipelineHistory } from "../history.ts"
import type { Replica, Replicas } from "../replicas.ts"
import type { Sampler } from "../sampler.ts"
import type { ForwardInfo, PipelineInfo, Readiness, ReconcileInfo, Service } from "../service.ts"
import { describeDelivery } from "../../verify/presets/delivery-facts.ts"
import { factsOf } from "../../verify/presets/sender-facts.ts"
import { attentionOfReplicas, attentionOfSenders, mostUrgent, problemsOf } from "./attention.ts"
import { wordsOf } from "./reason-words.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute } from "./route.ts"
import {
  PipelineDetail,
  Overview,
  ProcessActivity,
  type CertificateOverview,
  type ConnectionOverview,
  type PipelineOverview,
  type ForwardOverview,
  type ReconcileOverview,
} from "./shapes.ts"

/** Points of a sparkline, of 15 minutes. */
const POINTS = 60
const FIVE_MINUTES = 300_000 / STEP_MS
const REASONS_LISTED = 20

export interface OverviewDeps {
  readonly service: Service
  readonly sampler: Sampler
  readonly replicas: Replicas
}

export function overviewRoutes(deps: OverviewDeps): ApiRoute[] {
  return [
    route("GET /api/overview", {
      summary: "Pipelines, connections, rates, and what needs action.",
      query: Type.Object({
        pipelines: Type.Optional(Type.Boolean({ description: "false: none are listed. Default: all." })),
      }),
      response: Overview,
      answer: ({ query: { pipelines }, request }) => overviewOf(deps, pipelines, request),
    }),
    route("GET /api/activity", {
      summary: "What each process has counted since its start, for rates.",
      response: Type.Array(ProcessActivity),
      answer: () => deps.service.activity() as Promise<ProcessActivity[]>,
    }),
    route("GET /api/pipelines/:id", {
      summary: "A pipeline's rates, refusals and latencies of the last 15 minutes.",
      params: Type.Object({ id: Type.String() }),
      response: PipelineDetail,
      async answer({ params: { id } }) {
        const pipeline = deps.service.pipelines().find((it) => it.id === id)
        if (pipeline === undefined) throw new ApiError(404, "no pipeline has this id")
        const history = await deps.sampler.fresh()
        const end = Date.now() - history.sinceStepMs(steadyMs())
        const { accepted, refused, p50, p99 } = history.of(id)?.series() ?? NOTHING
        return {
          pipeline: pipelineOverview(pipeline, history.of(id)),
          sender: describeDelivery(factsOf(pipeline.provider ?? "")).join("; ") || null,
          step_ms: STEP_MS,
          times: Array.from({ length: STEPS }, (_, at) => Math.round(end - (STEPS - 1 - at) * STEP_MS)),
          accepted,
          refused,
          p50_ms: p50,
          p99_ms: p99,
        }
      },
    }),
  ]
}

const zeros = Array.from({ length: STEPS }, () => 0)
const nulls = Array.from({ length: STEPS }, () => null)
const NOTHING = { accepted: zeros, refused: [], p50: nulls, p99: nulls }
const FLAT = Array.from({ length: POINTS }, () => 0)

export async function overviewOf(
  { service, sampler, replicas }: OverviewDeps,
  withPipelines = true,
  request?: Request,
): Promise<Overview> {
  const asked = service.workers().map((it) => it.ask<Overview>("overview?pipelines=false").catch(unanswered))
  const [history, readiness, ...workers] = await Promise.all([
    withPipelines ? sampler.fresh() : sampler.history,
    service.readiness(),
    ...asked,
  ])
  const now = Date.now()
  await nextTurn()
  const listed = withPipelines ? service.pipelines() : []
  const pipelines = await inSlices(
    inSteps(listed, (pipeline) => pipelineOverview(pipeline, history.of(pipeline.id))),
  )
  const others = replicas.current(request)
  const counting = [...workers, ...others.map(({ overview }) => overview)]
  const refused = [service.receiver?.captures.tallies.refused, ...counting.map((it) => it?.refused)]
  const connections = connectionOverviews(service, readiness, (id) => sampler.outages.since(id) ?? now)
  await nextTurn()
  return {
    version: manifest.version,
    process: service.id,
    host: hostname(),
    state: readiness.state,
    started_at: service.startedAtMs,
    now,
    sparkline_step_ms: (STEPS / POINTS) * STEP_MS,
    capture: service.captureMode(),
    refused: refused.reduce<number>((sum, count = 0) => sum + count, 0),
    attention: mostUrgent([
      ...problemsOf(readiness, connections, pipelines, now),
      ...attentionOfSenders(service),
      ...attentionOfReplicas(others, now),
    ]),
    connections,
    pipelines,
    reconciles: [
      ...service.reconciles().map(reconcileOverview),
      ...rowsOf(others, ({ reconciles }) => reconciles),
    ],
    forwards: [...service.forwards().map(forwardOverview), ...rowsOf(others, ({ forwards }) => forwards)],
    replicas: others.map(({ name, overview, problem = null }) => ({
      replica: name,
      host: overview?.host ?? null,
      state: overview?.state ?? null,
      problem,
    })),
  }
}

/** Rows that replicas list, with the names of their replicas. */
const rowsOf = <R extends { readonly id: string }>(
  replicas: readonly Replica[],
  rows: (overview: Overview) => readonly R[],
): R[] =>
  replicas.flatMap(({ client, overview }) => (overview && rows(overview).map((it) => client.named(it))) ?? [])

const forwardOverview = (it: ForwardInfo): ForwardOverview => ({
  id: it.id,
  from: it.from,
  url: it.url,
  lag: it.lag ?? null,
  delivered: it.delivered,
  refused: it.refused,
  in_flight: it.inFlight,
  per_second: it.perSecond,
  paused: it.isPaused,
  problem: it.problem ?? null,
})

const reconcileOverview = (it: ReconcileInfo): ReconcileOverview => ({
  id: it.id,
  pipeline: it.pipeline,
  provider: it.provider,
  complete_at: it.completeAtMs ?? null,
  problem: it.problem ?? null,
  endpoint: it.endpoint ?? null,
  window: it.window === undefined ? null : certificateOverview(it.window),
  certificates: it.certificates.map(certificateOverview),
})

const certificateOverview = (it: ReconcileInfo["certificates"][number]): CertificateOverview => ({
  ...it,
  accounted: Object.entries(it.accounted).map(([outcome, count]) => ({ outcome, count })),
})

function pipelineOverview(
  { id, provider, isVerified, url, connection, topic }: PipelineInfo,
  history: PipelineHistory | undefined,
): PipelineOverview {
  const rates = history?.rates() ?? { accepted: 0, refused: 0 }
  const latency = (q: number): number | null => {
    const ms = history?.latency(q)
    return ms === undefined ? null : rounded(ms)
  }
  return {
    id,
    provider: provider ?? null,
    is_verified: isVerified,
    url,
    connection,
    topic,
    events_per_second: rounded(rates.accepted),
    refused_per_second: rounded(rates.refused),
    refusals: (history?.refusals(FIVE_MINUTES) ?? [])
      .slice(0, REASONS_LISTED)
      .map(([reason, count]) => ({ reason, words: wordsOf(reason), count })),
    p50_ms: latency(0.5),
    p99_ms: latency(0.99),
    last_event_at: history?.lastMs ?? null,
    sparkline: history?.sparkline(POINTS) ?? FLAT,
  }
}

function connectionOverviews(
  service: Service,
  readiness: Readiness,
  outageSince: (id: string) => number,
): ConnectionOverview[] {
  const problems = new Map(readiness.connections)
  const impaired = new Map(readiness.impaired)
  const spools = new Map(readiness.spools)
  return service.connections().map(({ id, kind, address }) => {
    const problem = problems.get(id)
    const spool = spools.get(id)
    return {
      id,
      kind,
      address,
      problem: problem ?? null,
      problem_since: problem === undefined ? null : outageSince(id),
      impaired: [...(impaired.get(id) ?? [])].slice(0, 100),
      spool:
        spool === undefined
          ? null
          : {
              records: spool.records,
              bytes: spool.bytes,
              oldest_at: spool.oldestMs ?? null,
              quarantined: spool.quarantined,
              problem: spool.problem ?? null,
            },
    }
  })
}
