// Hot path: every event of a verified pipeline passes here.
import {
  Refused,
  type Explanation,
  type SignedRequest,
  type VerificationResult,
  type Verifier,
} from "../verifier.ts"

/** The explanation of a request from which nothing could be read. */
export const NOTHING_READ = { signed: undefined, received: [], expected: [], timestampMs: undefined } as const

/** A verifier that reads one credential from a request, such as a token or a signature, and checks it. */
export function credentialVerifier<C>({
  needs,
  isQuick,
  signsUrl = false,
  toleranceMs = 0,
  read,
  check,
  show,
}: {
  readonly needs: Verifier["needs"]
  readonly isQuick: boolean
  readonly signsUrl?: boolean
  readonly toleranceMs?: number
  read(request: SignedRequest): C | Refused
  check(
    credential: C,
    request: SignedRequest,
    nowMs: number,
  ): VerificationResult | Promise<VerificationResult>
  /** The credential as an explanation shows it. */
  show(credential: C): Partial<Explanation>
}): Verifier {
  return {
    needs,
    isQuick,
    signsUrl,
    toleranceMs,
    verify(request, nowMs) {
      const credential = read(request)
      return credential instanceof Refused ? credential : check(credential, request, nowMs)
    },
    async explain(request, nowMs) {
      const credential = read(request)
      if (credential instanceof Refused) return { ...NOTHING_READ, result: credential, toleranceMs }
      const result = check(credential, request, nowMs)
      return { ...NOTHING_READ, ...show(credential), result: await result, toleranceMs }
    },
  }
}
