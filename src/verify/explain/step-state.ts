import { Verified, type RefusedReason } from "../verifier.ts"
import type { RequestDiagnosis } from "./diagnosis.ts"

/** The steps of a verification, in order; those that a scheme does not have are left out. */
export type StepName = "Received" | "Signed" | "Signature" | "Token" | "Time"

export type StepState = "passed" | "failed" | "not reached"

/** The step that a reason is about. */
const FAILED: { readonly [reason in RefusedReason]: "Received" | "Signature" | "Time" } = {
  missing_header: "Received",
  malformed: "Received",
  duplicate_member: "Received",
  stale: "Time",
  future: "Time",
  no_match: "Signature",
  wrong_claim: "Signature",
  replayed: "Signature",
  keys_unavailable: "Signature",
}

/** How a step ended. A verifier checks the time first; a signature that was not looked at for it is checked by the diagnosis. */
export function stateOfStep(name: StepName, { explanation, found }: RequestDiagnosis): StepState {
  const { result, signed, received, timestampMs } = explanation
  if (result instanceof Verified) return "passed"
  const isRead = signed !== undefined || received.length > 0
  // a malformed signature stands in a request that could be read
  const failed = result.reason === "malformed" && isRead ? "Signature" : FAILED[result.reason]
  switch (name) {
    case "Received":
      return failed === "Received" ? "failed" : "passed"
    case "Signed":
      return isRead ? "passed" : "not reached"
    case "Signature":
    case "Token": {
      if (failed === "Signature") return "failed"
      if (failed === "Received") return "not reached"
      const isTimeAlone = found.some(({ kind }) => kind === "time_off" || kind === "time_unit")
      return isTimeAlone ? "passed" : "failed"
    }
    case "Time":
      if (failed === "Time") return "failed"
      return timestampMs === undefined ? "not reached" : "passed"
  }
}
