// Hot path: every event of a verified pipeline passes here.
import { sameText } from "./constant-time.ts"
import { MOST_SIGNATURES } from "./family.ts"
import { checkFreshness } from "./freshness.ts"
import { joinSigned, type Signed } from "./payload.ts"
import {
  Refused,
  Verified,
  type Explanation,
  type SignedRequest,
  type Verdict,
  type Verifier,
} from "./verifier.ts"

/** What a request says of itself, before anything of it is believed. */
export interface Claim {
  /** As the request spells them; one must be right. */
  readonly signatures: readonly string[]
  readonly signed: Signed
  /** Other spellings of what may have been signed: a URL with its port and without. */
  readonly orSigned?: readonly Signed[] | undefined
  readonly timestampMs?: number | undefined
  readonly id?: string | undefined
  /** Whether only the parameters of a form are signed. */
  readonly isForm?: boolean | undefined
}

/** Tells whether a signature is right: by making it, or, where only the sender can, by checking it. */
export type Key =
  | { readonly expected: (signed: Signed) => string }
  | { readonly matches: (signed: Signed, signature: string) => boolean }

/** Where a scheme puts things in a request. */
export interface Scheme {
  readonly signsUrl: boolean
  read(request: SignedRequest): Claim | Refused
  /** What a signature looks like: tests its spelling, and says it in words for the refusal. */
  readonly spelling: { readonly test: RegExp; readonly words: string }
}

/** A verifier that reads a claim, checks its time, then tries each key on each signature. */
export function signatureVerifier(scheme: Scheme, keys: readonly Key[], toleranceMs: number): Verifier {
  /** For schemes that sign neither a time nor an id, by the key. */
  const bare = keys.map((_, i) => new Verified(undefined, undefined, i))
  const judge = (claim: Claim | Refused, nowMs: number): Verdict => {
    if (claim instanceof Refused) return claim
    const { timestampMs, id, isForm = false } = claim
    if (timestampMs !== undefined) {
      const refused = checkFreshness(timestampMs, nowMs, toleranceMs)
      if (refused !== undefined) return refused
    }
    for (let i = 0; i < keys.length; i++) {
      if (!matches(keys[i]!, claim)) continue
      if (timestampMs === undefined && id === undefined && !isForm) return bare[i]!
      return new Verified(timestampMs, id, i, isForm)
    }
    return explainMismatch(claim)
  }
  const explainMismatch = ({ signatures }: Claim): Refused => {
    const { test, words } = scheme.spelling
    return signatures.some((signature) => test.test(signature))
      ? new Refused(
          "no_match",
          keys.length === 1 ? "the key does not match" : `none of ${keys.length} keys matches`,
        )
      : new Refused("malformed", `the signature is not ${words}`)
  }
  return {
    needs: "body",
    signsUrl: scheme.signsUrl,
    toleranceMs,
    verify: (request, nowMs) => judge(scheme.read(request), nowMs),
    explain: (request, nowMs): Explanation => {
      const claim = scheme.read(request)
      const verdict = judge(claim, nowMs)
      if (claim instanceof Refused) return { ...NOTHING_READ, verdict, toleranceMs }
      const { signatures } = claim
      const matching = claim.orSigned?.find((it) => keys.some((key) => matchesOne(key, signatures, it)))
      const signed = matching ?? claim.signed
      return {
        verdict,
        signed: joinSigned(signed),
        received: signatures,
        expected: keys.flatMap((key) => ("expected" in key ? key.expected(signed) : [])),
        timestampMs: claim.timestampMs,
        toleranceMs,
      }
    },
  }
}

/** An explanation of a request that could not be read. */
export const NOTHING_READ = { signed: undefined, received: [], expected: [], timestampMs: undefined } as const

function matches(key: Key, { signatures, signed, orSigned }: Claim): boolean {
  if (matchesOne(key, signatures, signed)) return true
  return orSigned?.some((other) => matchesOne(key, signatures, other)) ?? false
}

function matchesOne(key: Key, signatures: readonly string[], signed: Signed): boolean {
  const most = Math.min(signatures.length, MOST_SIGNATURES)
  if ("expected" in key) {
    const expected = key.expected(signed)
    for (let i = 0; i < most; i++) if (sameText(expected, signatures[i]!)) return true
    return false
  }
  for (let i = 0; i < most; i++) if (key.matches(signed, signatures[i]!)) return true
  return false
}
