export const HOUR_MS = 3_600_000

/** What a sender lists of a time, and what became of it: as the ledger, records, the API and commands have it. */
export interface Certificate {
  /** RFC 3339, by the sender's clock. */
  readonly from: string
  readonly to: string
  readonly listed: number
  /** That the sender itself is still trying to deliver. */
  readonly pending: number
  /** That did not end here for good when the sender sent them; of these: */
  readonly missing: number
  readonly recovered: number
  /** To be asked for. */
  readonly open: number
  readonly unrecoverable: number
  /** 1, and more where a later list changed it. */
  readonly revision: number
  /** By outcome. */
  readonly accounted: { readonly [outcome: string]: number }
  /** The first of them. */
  readonly ids: { readonly recovered: string[]; readonly unrecoverable: string[] }
}
