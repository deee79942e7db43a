import type { ProblemKind } from "../../admin/problems/finding.ts"

export const SILENT: ProblemKind = {
  name: "silent",
  severity: "warning",
  runbook: "HooklineSilent",
  nextStep:
    "Look at the sender's deliveries, DNS and the load balancer; where it is quiet by nature, set a longer expect_every.",
}
