import { isReachedAt } from "../../components/webhook-source/reached-at.ts"
import { Ledger, ledgerIn } from "./ledger-database.ts"
import { LISTINGS } from "./listings.ts"
import { Reconciler } from "./reconciler.ts"
import type { Reconciliation, Target } from "./reconciliation.ts"
import { SenderApi } from "./sender-api.ts"
import type { SharedReconcile } from "./shared-reconcile.ts"
import type { Logger } from "../../telemetry/log.ts"
import { openOutcomes, type ReconcilePlace } from "./place.ts"
import type { PlannedReconcile } from "./plan.ts"

/** The parts that a reconciler works with. */
export type ReconcilerParts = Pick<Reconciliation, "certified" | "openLog" | "signal"> & {
  readonly log: Logger
  readonly target: Pick<Target, "problem" | "inject">
  /** undefined: there are no replicas, or nothing is to be kept. */
  readonly held: SharedReconcile | undefined
  readonly ledgerFolder: string
}

/** Opens what compares a section. @throws HooklineError `log_locked`, `log_io` */
export function openReconciler(
  planned: PlannedReconcile,
  place: ReconcilePlace,
  { target, held, ledgerFolder, ...more }: ReconcilerParts,
): Reconciler {
  const { id, values, pipeline, provider } = planned
  const listing = LISTINGS[provider]!
  return new Reconciler({
    ...more,
    id,
    provider,
    api: new SenderApi(listing, values, more.signal),
    ledger: new Ledger(ledgerIn(ledgerFolder, id), more.log),
    index: listing.item.got === undefined ? (held ?? openOutcomes(planned, place)) : undefined,
    shared: held,
    target: {
      ...target,
      isAt: (url) => URL.canParse(url) && isReachedAt(pipeline.source.values, new URL(url)),
    },
    windowMs: values.window,
    everyMs: values.every,
  })
}
