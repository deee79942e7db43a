export const HOUR_MS = 3_600_000

/** What a sender lists of a time, and what became of it. */
export interface Certificate {
  /** Milliseconds since 1970, by the sender's clock. */
  readonly fromMs: number
  readonly toMs: number
  readonly listed: number
  /** By outcome. */
  readonly accounted: { readonly [outcome: string]: number }
  /** That the sender itself is still trying to deliver. */
  readonly pending: number
  /** That did not end here for good when the sender sent them; of these: */
  readonly missing: number
  readonly recovered: number
  /** To be asked for. */
  readonly open: number
  readonly unrecoverable: number
  /** The first of them. */
  readonly ids: { readonly recovered: readonly string[]; readonly unrecoverable: readonly string[] }
  /** 1, and more where a later list changed it. */
  readonly revision: number
}

/** A certificate as records, the API and commands have it. */
export const toRecord = ({ fromMs, toMs, accounted, ids, ...counts }: Certificate) => ({
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
  ...counts,
  accounted: { ...accounted },
  ids: { recovered: [...ids.recovered], unrecoverable: [...ids.unrecoverable] },
})

/** Whether two replicas certify the same of an hour, apart from what each has recovered itself. */
export const isSame = (one: Certificate, other: Certificate): boolean =>
  one.listed === other.listed && one.pending === other.pending && one.unrecoverable === other.unrecoverable
