import { ageOf } from "../../../clock/age.ts"
import type { ProblemKind } from "../finding.ts"
import type { ProblemSubject } from "../subject.ts"

/** More than clocks kept by NTP differ by, and more than the age of an overview, which is up to a round. */
const CLOCK_MS = 10_000

const REPLICA_LEFT_OUT: ProblemKind = {
  name: "replica_left_out",
  severity: "warning",
  runbook: "Replica left out",
  nextStep:
    "See that it runs, with this version and this replicas_token, and that its admin address can be reached.",
}

const REPLICA_CLOCK: ProblemKind = {
  name: "replica_clock",
  severity: "warning",
  runbook: "Clocks differ",
  nextStep: "Synchronize both clocks by NTP.",
}

/** The other replicas. */
export const replicas: ProblemSubject = {
  kinds: [REPLICA_LEFT_OUT, REPLICA_CLOCK],
  *find({ replicas, nowMs }) {
    for (const { name: replica, problem, overview } of replicas) {
      if (overview === undefined) {
        const cause = `Replica ${replica} is left out: ${problem}`
        yield { kind: REPLICA_LEFT_OUT, subject: replica, cause }
        continue
      }
      const aheadMs = overview.now - nowMs
      if (Math.abs(aheadMs) <= CLOCK_MS) continue
      const cause = `The clock of replica ${replica} is ${ageOf(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"} this one's.`
      yield { kind: REPLICA_CLOCK, subject: replica, cause }
    }
  },
}
