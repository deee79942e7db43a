import { ageInSeconds, gaugesOf, ofThisProcess } from "../../telemetry/gauges.ts"
import type { ReconcileInfo } from "./info.ts"
import type { Reconciles } from "./running.ts"

const reconciled =
  (what: "listed" | "missing" | "recovered" | "open" | "unrecoverable") => (it: ReconcileInfo) =>
    it.window?.[what] ?? 0

/** Metrics of the process that reconciles a section. */
export const GAUGES = gaugesOf("reconcile", (it: Reconciles) => ofThisProcess(it.infos()), {
  reconcile_listed_events: ["Events that the sender lists in the window.", reconciled("listed")],
  reconcile_missing_events: [
    "Of these, events that had not ended here for good when the sender sent them.",
    reconciled("missing"),
  ],
  reconcile_recovered_events: ["Of the missing, those that have ended here since.", reconciled("recovered")],
  reconcile_open_events: ["Of the missing, those that are to be asked for.", reconciled("open")],
  reconcile_unrecoverable_events: [
    "Of the missing, those that were asked for three times, or can't be asked for.",
    reconciled("unrecoverable"),
  ],
  reconcile_set_back_events: [
    "Events whose outcomes were taken back since the start, as their records may be gone: another log, an earlier copy or a rescued one had taken the log's place.",
    (it) => it.setBack,
  ],
  reconcile_endpoint_ready: [
    "1 while the sender's endpoint is enabled and has the pipeline's URL, as far as its API says, else 0.",
    ({ endpoint }) => Number(endpoint === undefined),
  ],
  reconcile_age_seconds: [
    "Time since the sender's list was last compared as a whole; +Inf: it never was.",
    ({ completeAtMs }) =>
      completeAtMs === undefined ? Number.POSITIVE_INFINITY : ageInSeconds(completeAtMs),
  ],
})
