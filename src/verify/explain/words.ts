import MISTAKES from "./mistakes.json" with { type: "json" }
import type { SettingKey } from "../schemes/family.ts"
import type { RefusedReason } from "../verifier.ts"

/** The meaning of each reason, for `hookline verify` and the log. */
export const REASON_WORDS: { readonly [reason in RefusedReason]: string } = {
  missing_header: "the signature, token, timestamp or id is missing or empty",
  malformed: "a header or member is malformed",
  stale: "the timestamp is older than the tolerance",
  future: "the timestamp is further ahead than the tolerance",
  no_match: "no secret or key matches",
  wrong_claim: "it was signed by or for someone else",
  duplicate_member: "an object in the body has duplicate members, and consumers may read the other one",
  replayed: "its signed id was used before, with another body",
  keys_unavailable: "fetching the provider's keys failed, so the signature could not be checked",
}

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
