import { ageOf } from "../../../clock/age.ts"
import type { SpoolState } from "../../../brokers/broker.ts"
import { problemId, type Finding, type ProblemKind } from "../finding.ts"
import type { Evidence, ProblemSubject } from "../subject.ts"

/** Its broker can't be reached, or its log not be written. With a spool events are kept, and it is a warning. */
export const CONNECTION_DOWN: ProblemKind = {
  name: "connection_down",
  severity: "error",
  runbook: "HooklineBrokerUnavailable",
  nextStep:
    "See that the broker runs and can be reached from here, or the log's disk be written; Hookline reconnects by itself.",
}

const TOPICS_IMPAIRED: ProblemKind = {
  name: "topics_impaired",
  severity: "warning",
  runbook: "HooklinePartlyReady",
  nextStep: "Do what the topic's message says: create it, permit writing, or bring its brokers back.",
}

export const SPOOL_DOWN: ProblemKind = {
  name: "spool_down",
  severity: "error",
  runbook: "HooklineSpoolFilling",
  nextStep:
    "Free the disk or raise spool_max_bytes, and do not delete the file: its events were acknowledged.",
}

const SPOOL_WAITING: ProblemKind = {
  name: "spool_waiting",
  severity: "warning",
  runbook: "HooklineSpoolOld",
  nextStep: "Wait while it is forwarded; hookline spool status says how far it is.",
}

const QUARANTINED: ProblemKind = {
  name: "quarantined",
  severity: "warning",
  runbook: "HooklineQuarantined",
  nextStep: "See hookline spool status for the broker's reason, mend it, and send them again.",
}

/** The connections, their topics and spools. */
export const connections: ProblemSubject = {
  kinds: [CONNECTION_DOWN, TOPICS_IMPAIRED, SPOOL_DOWN, SPOOL_WAITING, QUARANTINED],
  *find({ readiness, nowMs }) {
    const spools = new Map(readiness.spools)
    const problems = new Map(readiness.connections)
    for (const [id, problem] of problems) {
      const spool = spools.get(id)
      yield* downOf(id, problem, spool, nowMs)
      if (spool !== undefined) yield* spoolOf(id, spool, nowMs)
    }
    yield* impairedOf(readiness)
  },
}

function* downOf(
  id: string,
  problem: string | undefined,
  spool: SpoolState | undefined,
  nowMs: number,
): Iterable<Finding> {
  const of = { kind: CONNECTION_DOWN, subject: id, connection: id }
  if (problem !== undefined && problem !== spool?.problem)
    yield { ...of, cause: `Connection ${id} accepts no events: ${problem}` }
  else if (spool?.outage !== undefined)
    yield {
      ...of,
      severity: "warning",
      cause: `Events of ${id} are kept in its spool (${waiting(spool, nowMs)}): ${spool.outage}`,
    }
}

function* spoolOf(id: string, spool: SpoolState, nowMs: number): Iterable<Finding> {
  const of = { subject: id, connection: id }
  const { problem, records, quarantined } = spool
  if (problem !== undefined)
    yield { ...of, kind: SPOOL_DOWN, cause: `The spool of ${id} accepts no events: ${problem}` }
  if (records > 0)
    yield {
      ...of,
      kind: SPOOL_WAITING,
      cause: `The spool of ${id} holds ${waiting(spool, nowMs)}.`,
      because: [problemId(CONNECTION_DOWN, id)],
    }
  if (quarantined > 0)
    yield {
      ...of,
      kind: QUARANTINED,
      cause: `The broker refused ${quarantined.toLocaleString("en")} spooled events of ${id} for good.`,
    }
}

const waiting = ({ records, oldestMs }: SpoolState, nowMs: number): string =>
  `${records.toLocaleString("en")} events${oldestMs === undefined ? "" : `, the oldest for ${ageOf(nowMs - oldestMs)}`}`

function* impairedOf({ impaired }: Evidence["readiness"]): Iterable<Finding> {
  for (const [id, [first, ...others]] of impaired) {
    if (first === undefined) continue
    yield {
      kind: TOPICS_IMPAIRED,
      subject: id,
      connection: id,
      cause: `${id}: ${first}${others.length === 0 ? "" : `; and ${others.length} more`}`,
      because: [problemId(CONNECTION_DOWN, id)],
    }
  }
}
