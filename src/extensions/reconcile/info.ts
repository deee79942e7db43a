import { count, nullable, replica, time, Type, type Static } from "../../admin/api/shape.ts"
import type { ReconcileState } from "./reconciliation.ts"

/** A section, and what became of it. */
export interface ReconcileInfo extends ReconcileState {
  readonly id: string
  readonly pipeline: string
  readonly provider: string
  /** True while another process of the service reconciles it. */
  readonly isElsewhere: boolean
}

const ids = Type.Array(Type.String(), { description: "The first thousand." })

/** A sender's list of a time, and what became of its events. */
export const CertificateOverview = Type.Object({
  from: Type.String({ description: "RFC 3339, by the sender's clock." }),
  to: Type.String(),
  listed: count,
  accounted: Type.Array(Type.Object({ outcome: Type.String(), count })),
  pending: count,
  missing: count,
  recovered: count,
  open: count,
  unrecoverable: count,
  ids: Type.Object({ recovered: ids, unrecoverable: ids }),
  revision: Type.Integer(),
})

export const ReconcileOverview = Type.Object({
  id: Type.String(),
  pipeline: Type.String(),
  provider: Type.String(),
  complete_at: nullable(time),
  problem: nullable(Type.String()),
  endpoint: nullable(Type.String({ description: "What is wrong with the sender's endpoint." })),
  window: nullable(CertificateOverview),
  certificates: Type.Array(CertificateOverview, { description: "Of hours, the newest first." }),
  replica,
})

/** A section as the admin API lists it. */
export const rowOf = (it: ReconcileInfo): Static<typeof ReconcileOverview> => ({
  id: it.id,
  pipeline: it.pipeline,
  provider: it.provider,
  complete_at: it.completeAtMs ?? null,
  problem: it.problem ?? null,
  endpoint: it.endpoint ?? null,
  window: it.window === undefined ? null : certificateOverview(it.window),
  certificates: it.certificates.map(certificateOverview),
})

const certificateOverview = (
  it: ReconcileInfo["certificates"][number],
): Static<typeof CertificateOverview> => ({
  ...it,
  accounted: Object.entries(it.accounted).map(([outcome, count]) => ({ outcome, count })),
})
