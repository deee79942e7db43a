import { Type } from "./shape.ts"
import manifest from "../../../package.json" with { type: "json" }
import { steadyMs } from "../../clock/clock.ts"
import { inSlices, inSteps, nextTurn } from "../../clock/slices.ts"
import { rounded, STEP_MS, STEPS, type PipelineHistory } from "../history.ts"
import type { Sampler } from "../sampler.ts"
import type { ForwardInfo, PipelineInfo, Readiness, ReconcileInfo, Service } from "../service.ts"
import { describeDelivery } from "../../verify/presets/delivery-facts.ts"
import { factsOf } from "../../verify/presets/sender-facts.ts"
import { wordsOf } from "./reason-words.ts"
import { ApiError, route, type ApiRoute } from "./route.ts"
import {
  PipelineDetail,
  Overview,
  type Attention,
  type CertificateOverview,
  type ConnectionOverview,
  type PipelineOverview,
  type ForwardOverview,
  type ReconcileOverview,
} from "./shapes.ts"

/** Points of a sparkline, of 15 minutes. */
const POINTS = 60
const FIVE_MINUTES = 300_000 / STEP_MS
/** Refusals of one reason in five minutes that someone should look at. */
const REFUSALS_NOTED = 5
const REASONS_LISTED = 20

export interface OverviewDeps {
  readonly service: Service
  readonly sampler: Sampler
}

export function overviewRoutes(deps: OverviewDeps): ApiRoute[] {
  return [
    route("GET /api/overview", {
      summary: "Pipelines, connections, rates, and what needs action.",
      response: Overview,
      answer: () => overviewOf(deps),
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

export async function overviewOf({ service, sampler }: OverviewDeps): Promise<Overview> {
  const refusals = service.receivers().map((it) => it.capturedRefusals())
  const [history, readiness, ...captured] = await Promise.all([
    sampler.fresh(),
    service.readiness(),
    ...refusals,
  ])
  const now = Date.now()
  await nextTurn()
  const pipelines = await inSlices(
    inSteps(service.pipelines(), (pipeline) => pipelineOverview(pipeline, history.of(pipeline.id))),
  )
  const connections = connectionOverviews(service, readiness, (id) => sampler.outages.since(id) ?? now)
  await nextTurn()
  return {
    version: manifest.version,
    state: readiness.state,
    started_at: service.startedAtMs,
    now,
    sparkline_step_ms: (STEPS / POINTS) * STEP_MS,
    capture: service.captureMode(),
    captured_refusals: captured.reduce((sum, count) => sum + count, 0),
    attention: [...attentionOf(readiness, connections, pipelines, now), ...attentionOfSenders(service)]
      .toSorted((a, b) => a.level.localeCompare(b.level))
      .slice(0, ATTENTION_LISTED),
    connections,
    pipelines,
    reconciles: service.reconciles().map(reconcileOverview),
    forwards: service.forwards().map(forwardOverview),
  }
}

const forwardOverview = (it: ForwardInfo): ForwardOverview => ({
  id: it.id,
  from: it.from,
  url: it.url,
  lag: it.lag ?? null,
  delivered: it.delivered,
  refused: it.refused,
  in_flight: it.inFlight,
  per_second: it.perSecond,
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

const ATTENTION_LISTED = 50

const attention = (level: Attention["level"], text: string, of: Partial<Attention> = {}): Attention => ({
  level,
  text,
  pipeline: null,
  connection: null,
  ...of,
})

function* attentionOf(
  { stores, listeners = [], workers = [] }: Readiness,
  connections: readonly ConnectionOverview[],
  pipelines: readonly PipelineOverview[],
  now: number,
): Iterable<Attention> {
  for (const { id: connection, problem, problem_since: since, impaired, spool } of connections) {
    const accepts =
      since === null || now - since < 2000
        ? "accepts no events"
        : `has accepted no events for ${ageOf(now - since)}`
    if (problem !== null)
      yield attention("error", `Connection ${connection} ${accepts}: ${problem}`, { connection })
    for (const text of impaired.slice(0, 3)) yield attention("warning", text, { connection })
    if (spool === null) continue
    if (spool.problem !== null)
      yield attention("error", `The spool of ${connection} accepts no events: ${spool.problem}`, {
        connection,
      })
    if (spool.records > 0) {
      const age = spool.oldest_at === null ? "" : `, the oldest for ${ageOf(now - spool.oldest_at)}`
      const text = `The spool of ${connection} holds ${spool.records.toLocaleString("en")} events${age}.`
      yield attention("warning", text, { connection })
    }
    if (spool.quarantined > 0)
      yield attention(
        "warning",
        `The broker refused ${spool.quarantined.toLocaleString("en")} spooled events of ${connection} for good; see hookline spool status.`,
        { connection },
      )
  }
  for (const [name, problem] of stores)
    if (problem !== undefined) yield attention("error", `The dedupe store ${name} can't be used: ${problem}`)
  for (const [, problem] of listeners) if (problem !== undefined) yield attention("error", problem)
  for (const [worker, problem] of workers)
    if (problem !== undefined) yield attention("error", `Worker ${worker}: ${problem}`)
  for (const { id: pipeline, refusals } of pipelines) {
    const [first] = refusals
    if (first === undefined || first.count < REFUSALS_NOTED) continue
    const count = refusals.reduce((sum, it) => sum + it.count, 0)
    const text = `${count.toLocaleString("en")} refusals of ${pipeline} in 5 minutes${refusals.length > 1 ? ", most of them" : ""}: ${first.words}`
    yield attention("warning", text, { pipeline })
  }
}

/** What senders sent that has not come, and pipelines to which nothing comes. */
function* attentionOfSenders(service: Service): Iterable<Attention> {
  for (const [pipeline, { ms, expectedMs }] of service.silences())
    if (ms >= expectedMs)
      yield attention("warning", `No event of ${pipeline} for ${ageOf(ms)}.`, { pipeline })
  for (const { id, problem, isElsewhere } of service.forwards())
    if (problem !== undefined && !isElsewhere) yield attention("warning", `Can't forward ${id}: ${problem}`)
  for (const { id, pipeline, problem, endpoint, window, isElsewhere } of service.reconciles()) {
    if (isElsewhere) continue
    if (problem !== undefined) yield attention("warning", `Can't reconcile ${id}: ${problem}`, { pipeline })
    if (endpoint !== undefined) yield attention("error", `${id}: ${endpoint}`, { pipeline })
    const { open = 0, unrecoverable = 0 } = window ?? {}
    const events = (count: number): string => `${count.toLocaleString("en")} events of ${id}`
    if (open > 0) yield attention("warning", `${events(open)} are to be asked for.`, { pipeline })
    if (unrecoverable > 0)
      yield attention("error", `${events(unrecoverable)} could not be recovered.`, { pipeline })
  }
}

/** `42 s`, `3 min`, `5 h`, `2 d`. */
function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`
}
