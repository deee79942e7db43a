import type { ProviderRef } from "../presets/providers.ts"
import type { VerifierSettings } from "../schemes/family.ts"
import type { SignedRequest } from "../verifier.ts"
import type { Mistake } from "./words.ts"

export interface Inquiry {
  readonly provider: ProviderRef
  readonly settings: VerifierSettings
  readonly request: SignedRequest
  readonly nowMs: number
  /** Whose configuration is suggested; undefined: not known. */
  readonly pipeline?: string | undefined
}

/** An inquiry with one mistake undone. */
export interface Candidate extends Partial<Inquiry> {
  readonly mistake: Mistake
}
