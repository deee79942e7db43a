import { ageOf } from "../../../clock/age.ts"
import { counted } from "../../../words.ts"
import { UNAVAILABLE } from "../../../pipeline/service-unavailable.ts"
import { wordsOf } from "../../api/reason-words.ts"
import { FIVE_MINUTES, type PipelineHistory } from "../../pipeline-history.ts"
import { problemId, type Finding, type ProblemKind } from "../finding.ts"
import type { Evidence, ProblemSubject } from "../subject.ts"
import { CONNECTION_DOWN } from "./connections.ts"
import { STORE_DOWN } from "./stores.ts"

/** Refusals of one reason, or requests without an answer, in five minutes that someone should look at. */
const NOTED = 5
/** Pipelines that a line names. */
const NAMED = 3

const SIGNATURES_REFUSED: ProblemKind = {
  name: "signatures_refused",
  severity: "warning",
  runbook: "HooklineSignaturesRefused",
  nextStep:
    "Compare the pipeline's secret with the sender's: hookline verify --last explains the last refusal.",
}

const EVENTS_FAILING: ProblemKind = {
  name: "events_failing",
  severity: "warning",
  runbook: "HooklineEventsFailing",
  nextStep: "Mend what the reason names; senders are answered 503 and try again.",
}

const REQUESTS_REFUSED: ProblemKind = {
  name: "requests_refused",
  severity: "warning",
  runbook: "Requests refused",
  nextStep: "Look at a refused request: hookline verify --last says what was expected, and how to mend it.",
}

const UNANSWERED: ProblemKind = {
  name: "unanswered",
  severity: "warning",
  runbook: "Requests unanswered",
  nextStep: "Compare the sender's or the proxy's timeout with the time to the acknowledgement.",
}

const UNTRUSTED_PROXY: ProblemKind = {
  name: "untrusted_proxy",
  severity: "warning",
  runbook: "Untrusted proxy",
  nextStep: "List the address in trusted_proxies if it is your proxy's.",
}

/** Requests that are refused or get no answer. */
export const requests: ProblemSubject = {
  kinds: [SIGNATURES_REFUSED, EVENTS_FAILING, REQUESTS_REFUSED, UNANSWERED, UNTRUSTED_PROXY],
  *find(evidence) {
    const behindProxies: string[] = []
    for (const [id, history] of evidence.history.pipelines()) {
      if (history.noted("untrusted_proxy", FIVE_MINUTES) > 0 && evidence.pipeline(id) !== undefined)
        behindProxies.push(id)
      yield* refusedOf(id, history, evidence)
      yield* unansweredOf(id, history, evidence)
    }
    yield* untrustedOf(behindProxies)
  },
}

/** One finding a kind, with all reasons of that kind. */
function* refusedOf(id: string, history: PipelineHistory, evidence: Evidence): Iterable<Finding> {
  const { unverified } = history
  const refusals = history.refusals(FIVE_MINUTES).filter(([reason]) => !history.isOfScanners(reason))
  if (unverified === undefined && refusals.every(([, count]) => count < NOTED)) return
  const pipeline = evidence.pipeline(id)
  if (pipeline === undefined) return
  const of = { subject: id, pipeline: id }
  if (unverified !== undefined)
    yield {
      ...of,
      kind: SIGNATURES_REFUSED,
      cause: unverifiedWords(id, history, evidence.nowMs),
      sinceMs: unverified.firstMs,
    }
  const stores = [...evidence.readiness.stores].map(([name]) => problemId(STORE_DOWN, name))
  const causes = [problemId(CONNECTION_DOWN, pipeline.connection), ...stores]
  for (const [kind, all] of Map.groupBy(refusals, ([reason]) => kindOf(reason))) {
    const [reason, most] = all[0]!
    if (most < NOTED) continue
    const count = all.reduce((sum, [, it]) => sum + it, 0)
    const words = wordsOf(reason) || "see hookline verify --last"
    yield {
      ...of,
      kind,
      cause: `${count.toLocaleString("en")} refusals of ${id} in 5 minutes${all.length > 1 ? ", most of them" : ""}: ${words}`,
      because: kind === EVENTS_FAILING ? causes : [],
    }
  }
}

/** Describes the requests that were refused since the last one that was verified. */
function unverifiedWords(id: string, { unverified, verifiedMs }: PipelineHistory, nowMs: number): string {
  const { count, reason } = unverified!
  const verified =
    verifiedMs === undefined
      ? "none was verified yet"
      : `the last was verified ${ageOf(nowMs - verifiedMs)} ago`
  return `${counted(count, "request")} of ${id} with a signature ${count === 1 ? "was" : "were"} refused, and ${verified}: ${wordsOf(reason)}`
}

function kindOf(reason: string): ProblemKind {
  if (reason in UNAVAILABLE) return EVENTS_FAILING
  return reason.startsWith("unverified_") && reason !== "unverified_rate_limited"
    ? SIGNATURES_REFUSED
    : REQUESTS_REFUSED
}

function* unansweredOf(id: string, history: PipelineHistory, { pipeline }: Evidence): Iterable<Finding> {
  const count = history.noted("unanswered", FIVE_MINUTES)
  if (count < NOTED || pipeline(id) === undefined) return
  yield {
    kind: UNANSWERED,
    subject: id,
    pipeline: id,
    cause: `${count.toLocaleString("en")} requests of ${id} in 5 minutes got no answer: their connections were closed before it. Accepted events of them are published, and may be sent again.`,
  }
}

function* untrustedOf(pipelines: readonly string[]): Iterable<Finding> {
  if (pipelines.length === 0) return
  const more = pipelines.length - NAMED
  const names = pipelines.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "")
  yield {
    kind: UNTRUSTED_PROXY,
    pipeline: pipelines.length === 1 ? pipelines[0]! : null,
    cause: `X-Forwarded-For of an address that trusted_proxies of ${names} does not list is ignored: if it is your proxy's, list it, or all senders behind it count as one.`,
  }
}
