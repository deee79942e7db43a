import { withoutHidden } from "../../process/hidden-segments.ts"
import { Type, type Shape } from "./shape.ts"
import { hostname } from "node:os"
import manifest from "../../../package.json" with { type: "json" }
import { steadyMs } from "../../clock/clock.ts"
import { inSlices, inSteps, nextTurn } from "../../clock/slices.ts"
import type { History } from "../history.ts"
import { FIVE_MINUTES, rounded, STEP_MS, STEPS, type PipelineHistory } from "../pipeline-history.ts"
import type { Replica, Replicas } from "../replicas.ts"
import type { Sampler } from "../sampler.ts"
import type { SectionRow } from "../extension-state.ts"
import type { ForwardInfo, PipelineInfo, Readiness, Service } from "../service.ts"
import { describeDelivery, factsOf } from "../../verify/senders.ts"
import { problemId } from "../problems/finding.ts"
import { mergedProblems } from "../problems/merged-problems.ts"
import { CONNECTION_DOWN } from "../problems/subjects/connections.ts"
import { diskUsed } from "./disk-used.ts"
import { sectionsIn, type Overview } from "./overview-shape.ts"
import { pipelineStates } from "./pipeline-state.ts"
import { wordsOf } from "./reason-words.ts"
import { ApiError } from "./problem.ts"
import { replaysOf } from "./replays.ts"
import { route, type ApiRoute } from "./route.ts"
import {
  PipelineDetail,
  ProcessActivity,
  type ConnectionOverview,
  type PipelineOverview,
  type PipelineState,
  type Totals,
  type ForwardOverview,
} from "./shapes.ts"

/** Points of a sparkline, of 15 minutes. */
export const POINTS = 60
const REASONS_LISTED = 20
/** Problems of an overview; /api/problems has all. */
const LISTED = 50

export interface OverviewDeps {
  readonly service: Service
  readonly sampler: Sampler
  readonly replicas: Replicas
}

/** @param shape of the overview */
export function overviewRoutes(deps: OverviewDeps, shape: Shape<Overview>): ApiRoute[] {
  return [
    route("GET /api/overview", {
      summary: "Pipelines, connections, rates, and what needs action.",
      query: Type.Object({
        pipelines: Type.Optional(Type.Boolean({ description: "false: none are listed. Default: all." })),
        replays: Type.Optional(Type.Boolean({ description: "true: they are listed, too. Default: not." })),
      }),
      response: shape,
      async answer({ query: { pipelines, replays }, request }) {
        const overview = await overviewOf(deps, pipelines, request)
        return replays === true ? { ...overview, replays: replaysOf(deps.service.replays) } : overview
      },
    }),
    route("GET /api/activity", {
      summary: "What has been counted since the start, for rates.",
      response: ProcessActivity,
      answer: () => deps.service.activity() as Promise<ProcessActivity>,
    }),
    route("GET /api/pipelines/:id", {
      summary: "A pipeline's rates, refusals and latencies of the last 15 minutes.",
      params: Type.Object({ id: Type.String() }),
      response: PipelineDetail,
      async answer({ params: { id } }) {
        const pipeline = deps.service.pipelines().find((it) => it.id === id)
        if (pipeline === undefined) throw new ApiError(404, "no pipeline has this id")
        const { service, sampler } = deps
        const history = await sampler.fresh()
        const stateOf = pipelineStates(service, service.readiness(), sampler.problems, Date.now())
        const end = Date.now() - history.sinceStepMs(steadyMs())
        const { accepted, dropped, refused, p50, p99 } = history.of(id).series()
        return {
          pipeline: pipelineOverview(pipeline, history.of(id), stateOf),
          sender: describeDelivery(factsOf(pipeline.provider ?? "")).join("; ") || null,
          step_ms: STEP_MS,
          times: Array.from({ length: STEPS }, (_, at) => Math.round(end - (STEPS - 1 - at) * STEP_MS)),
          accepted,
          dropped: dropped.map(inWords),
          refused: refused.map(inWords),
          p50_ms: p50,
          p99_ms: p99,
        }
      },
    }),
  ]
}

const inWords = <T extends { readonly reason: string }>(it: T) => ({ ...it, words: wordsOf(it.reason) })

export async function overviewOf(
  { service, sampler, replicas }: OverviewDeps,
  withPipelines = true,
  request?: Request,
): Promise<Overview> {
  const history = withPipelines ? await sampler.fresh() : sampler.history
  const readiness = service.readiness()
  const now = Date.now()
  await nextTurn()
  const stateOf = pipelineStates(service, readiness, sampler.problems, now)
  const listed = withPipelines ? service.pipelines() : []
  const pipelines = await inSlices(
    inSteps(listed, (pipeline) => pipelineOverview(pipeline, history.of(pipeline.id), stateOf)),
  )
  const others = replicas.current(request)
  const refused = [
    service.receiver.captures.tallies.refused,
    ...others.map(({ overview }) => overview?.refused),
  ]
  const connections = await connectionOverviews(
    service,
    readiness,
    (id) => sampler.problems.since(problemId(CONNECTION_DOWN, id)) ?? now,
  )
  const forwards = [...service.forwards().map(forwardOverview), ...rowsOf(others, ({ forwards }) => forwards)]
  const allConnections = [...connections, ...rowsOf(others, ({ connections }) => connections)]
  await nextTurn()
  return {
    version: manifest.version,
    process: service.id,
    host: hostname(),
    state: readiness.state,
    started_at: service.startedAtMs,
    configuration_loaded_at: service.configuration().loadedAtMs,
    now,
    sparkline_step_ms: (STEPS / POINTS) * STEP_MS,
    capture: service.captureMode(),
    refused: sumOf(refused),
    totals: totalsOf(history, { connections: allConnections, forwards }, withPipelines),
    problems: mergedProblems(sampler.problems, others, LISTED),
    connections: allConnections,
    pipelines,
    ...sectionsOf(service, others),
    forwards,
    replicas: others.map(({ name, overview, problem = null }) => ({
      replica: name,
      host: overview?.host ?? null,
      state: overview?.state ?? null,
      problem,
    })),
  }
}

/** The sections of extensions, by their lists. */
const sectionsOf = (service: Service, others: readonly Replica[]): object =>
  Object.fromEntries(
    service.sectionLists.map(({ plural }): [string, SectionRow[]] => [
      plural,
      [...service.sections(plural), ...rowsOf(others, (overview) => sectionsIn(overview, plural))],
    ]),
  )

const sumOf = (counts: readonly (number | undefined)[]): number =>
  counts.reduce<number>((sum, count = 0) => sum + count, 0)

function totalsOf(
  history: History,
  { connections, forwards }: Pick<Overview, "connections" | "forwards">,
  withSeries: boolean,
): Totals {
  const { accepted, dropped, refused } = history.total.series()
  const spools = connections.flatMap(({ spool }) => spool ?? [])
  const used = connections.flatMap(({ disk_used }) => disk_used ?? [])
  const oldest = spools.flatMap(({ oldest_at }) => oldest_at ?? [])
  return {
    ...figuresOf(history.total),
    unsent: sumOf([...spools.map(({ records }) => records), ...forwards.map(({ lag }) => lag ?? 0)]),
    oldest_unsent_at: oldest.length === 0 ? null : Math.min(...oldest),
    disk_used: used.length === 0 ? null : Math.max(...used),
    step_ms: STEP_MS,
    steps_end: Math.round(Date.now() - history.sinceStepMs(steadyMs())),
    accepted: withSeries ? accepted : [],
    dropped: withSeries ? dropped[0]!.values : [],
    refused: withSeries ? refused[0]!.values : [],
  }
}

/** Rows that replicas list, with the names of their replicas. */
export const rowsOf = <R extends { readonly id: string }>(
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
  per_second: rounded(it.perSecond),
  paused: it.isPaused,
  problem: it.problem ?? null,
})

function figuresOf(history: PipelineHistory) {
  const { accepted, dropped, refused } = history.rates()
  const [p50, p99] = [history.latency(0.5), history.latency(0.99)]
  return {
    events_per_second: rounded(accepted),
    dropped_per_second: rounded(dropped),
    refused_per_second: rounded(refused),
    p50_ms: p50 === undefined ? null : rounded(p50),
    p99_ms: p99 === undefined ? null : rounded(p99),
  }
}

function pipelineOverview(
  pipeline: PipelineInfo,
  history: PipelineHistory,
  stateOf: (pipeline: PipelineInfo, history: PipelineHistory) => PipelineState,
): PipelineOverview {
  const { id, provider, isVerified, connection, topic } = pipeline
  const url = withoutHidden(pipeline.url)
  return {
    id,
    state: stateOf(pipeline, history),
    provider: provider ?? null,
    is_verified: isVerified,
    url,
    connection,
    topic,
    ...figuresOf(history),
    refusals: history
      .refusals(FIVE_MINUTES)
      .slice(0, REASONS_LISTED)
      .map(([reason, count]) => ({ reason, words: wordsOf(reason), count })),
    last_event_at: history.lastMs ?? null,
    sparkline: history.sparkline(POINTS),
  }
}

async function connectionOverviews(
  service: Service,
  readiness: Readiness,
  outageSince: (id: string) => number,
): Promise<ConnectionOverview[]> {
  const problems = new Map(readiness.connections)
  const impaired = new Map(readiness.impaired)
  const spools = new Map(readiness.spools)
  const overviews = service.connections().map(async ({ id, kind, address, folder }) => {
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
              outage: spool.outage ?? null,
            },
      disk_used: await diskUsed(folder, spool),
    }
  })
  return Promise.all(overviews)
}
