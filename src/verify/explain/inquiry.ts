import type { ProviderRef } from "../presets/providers.ts"
import type { SettingKey, VerifierSettings } from "../schemes/family.ts"
import type { SignedRequest } from "../verifier.ts"
import MISTAKES from "./mistakes.json" with { type: "json" }

export type MistakeKind = keyof typeof MISTAKES

/** A certain or possible cause of a refusal. */
export interface Mistake {
  readonly kind: MistakeKind
  /** The specifics. Holds no secret. */
  readonly detail: string
  /** Options that would undo it, as a file spells them; those that the provider does not have are left out. */
  readonly options?: SuggestedOptions | undefined
}

/** Keys of a Verifier, and `public_url` of its source. A secret is described, not spelled. */
export type SuggestedOptions = { readonly [key in SettingKey | "provider" | "public_url"]?: string }

/** A mistake and its remedy, as sentences. */
export function describeMistake({ kind, detail }: Mistake): { problem: string; remedy: string } {
  const { problem, remedy } = MISTAKES[kind]
  return { problem: problem.replace("{detail}", () => detail), remedy }
}

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
