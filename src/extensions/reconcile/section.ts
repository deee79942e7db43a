import { LISTINGS } from "./listings.ts"
import { defineExtension } from "../define-extension.ts"
import { declareReconcile } from "./declare-command.ts"
import { FILES } from "./files.ts"
import { GAUGES } from "./gauges.ts"
import { CertificateOverview, ReconcileOverview } from "./info.ts"
import { RECONCILE } from "./options.ts"
import { checkReconcile, plannedReconciles, type PlannedReconcile } from "./plan.ts"
import { RECONCILE_PROBLEMS } from "./problems.ts"

/** Compares what senders list with what ended here for good, and has them deliver again what is missing. */
export const reconcile = defineExtension({
  name: "reconcile",
  sections: {
    plural: "reconciles",
    section: RECONCILE,
    pipeline: "pipeline",
    check: checkReconcile,
    recovers: (sender) => Object.hasOwn(LISTINGS, sender),
    unshared: ["is reconciled", "each asks for events that another one has"],
    show: ({ id, pipeline, provider }: PlannedReconcile) => ({
      line: `pipeline ${pipeline.id} with what ${provider} lists`,
      json: { id, pipeline: pipeline.id, provider },
    }),
    row: ReconcileOverview,
    shapes: { CertificateOverview, ReconcileOverview },
  },
  plan: plannedReconciles,
  load: () => import("./running.ts"),
  gauges: GAUGES,
  problems: RECONCILE_PROBLEMS,
  files: FILES,
  commands: declareReconcile,
})
