import { ageOf } from "../../clock/age.ts"
import type { History } from "../history.ts"
import { FIVE_MINUTES } from "../pipeline-history.ts"
import type { Replica } from "../replicas.ts"
import type { PipelineInfo, Readiness, Service } from "../service.ts"
import type { Attention, ConnectionOverview, PipelineOverview } from "./shapes.ts"

const LISTED = 50
/** Refusals of one reason, or requests without an answer, in five minutes that someone should look at. */
const REFUSALS_NOTED = 5
/** Pipelines that a line names. */
const NAMED = 3

/** What needs someone's action now, errors first. */
export const mostUrgent = (all: readonly Attention[]): Attention[] =>
  all.toSorted((a, b) => a.level.localeCompare(b.level)).slice(0, LISTED)

/** More than clocks kept by NTP differ by, and more than the age of an overview, which is up to a round. */
const CLOCK_MS = 10_000

/** What the other replicas report, and what is wrong with the replicas themselves. */
export function* attentionOfReplicas(replicas: readonly Replica[], now: number): Iterable<Attention> {
  for (const { name: replica, problem, overview } of replicas) {
    if (overview === undefined) {
      yield attention("warning", `Replica ${replica} is left out: ${problem}`, { replica })
      continue
    }
    const aheadMs = overview.now - now
    if (Math.abs(aheadMs) > CLOCK_MS) {
      const text = `The clock of replica ${replica} is ${ageOf(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"} this one's.`
      yield attention("warning", text, { replica })
    }
    for (const it of overview.attention) yield { ...it, text: `Replica ${replica}: ${it.text}`, replica }
  }
}

const attention = (level: Attention["level"], text: string, of: Partial<Attention> = {}): Attention => ({
  level,
  text,
  pipeline: null,
  connection: null,
  ...of,
})

/** What of this service can't be used, and pipelines with many refusals. */
export function* problemsOf(
  { stores, listeners = [] }: Readiness,
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
    else if (spool.outage !== null)
      yield attention("warning", `Events of ${connection} are spooled: ${spool.outage}`, { connection })
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
  for (const { id: pipeline, refusals } of pipelines) {
    const [first] = refusals
    if (first === undefined || first.count < REFUSALS_NOTED) continue
    const count = refusals.reduce((sum, it) => sum + it.count, 0)
    const text = `${count.toLocaleString("en")} refusals of ${pipeline} in 5 minutes${refusals.length > 1 ? ", most of them" : ""}: ${first.words}`
    yield attention("warning", text, { pipeline })
  }
}

/** Pipelines whose senders close connections before the answer, or come through a proxy that is not trusted. */
export function* attentionOfRequests(
  pipelines: readonly PipelineInfo[],
  history: Pick<History, "of">,
): Iterable<Attention> {
  const behindProxies: string[] = []
  for (const { id: pipeline } of pipelines) {
    const of = history.of(pipeline)
    if (of.noted("untrusted_proxy", FIVE_MINUTES) > 0) behindProxies.push(pipeline)
    const unanswered = of.noted("unanswered", FIVE_MINUTES)
    if (unanswered < REFUSALS_NOTED) continue
    const text = `${unanswered.toLocaleString("en")} requests of ${pipeline} in 5 minutes got no answer: their connections were closed before it. Accepted events of them are published, and may be sent again.`
    yield attention("warning", text, { pipeline })
  }
  if (behindProxies.length === 0) return
  const more = behindProxies.length - NAMED
  const names = behindProxies.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "")
  const text = `X-Forwarded-For of an address that trusted_proxies of ${names} does not list is ignored: if it is your proxy's, list it, or all senders behind it count as one.`
  yield attention("warning", text, behindProxies.length === 1 ? { pipeline: behindProxies[0]! } : {})
}

/** Events that senders sent and that have not arrived, pipelines that receive none, and forwards. */
export function* attentionOfSenders(service: Service): Iterable<Attention> {
  for (const extension of service.extensions()) yield* extension.attention()
  for (const { id, problem, isElsewhere, isPaused, lag = 0 } of service.forwards()) {
    if (problem !== undefined && !isElsewhere) yield attention("warning", `Can't forward ${id}: ${problem}`)
    if (isPaused && lag > 0) yield attention("warning", `Forward ${id} is paused, and records wait.`)
  }
}
