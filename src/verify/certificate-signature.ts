import { verify } from "node:crypto"
import { Certificates, type CertificateRules } from "./certificates.ts"
import type { Outside } from "./family.ts"
import { joinSigned } from "./payload.ts"
import { decodeBase64 } from "./secrets.ts"
import { NOTHING_READ, signatureVerifier, type Claim } from "./signature.ts"
import { Refused, type Explanation, type SignedRequest, type Verdict, type Verifier } from "./verifier.ts"

/** What a request says that was signed, by which hash, and where the signer's certificate is. */
export interface CertificateClaim extends Claim {
  readonly certificateUrl: string
  readonly hash: "sha1" | "sha256"
}

/** A verifier of RSA signatures (PKCS #1 v1.5) whose certificate the request points to. */
export function certificateVerifier(
  read: (request: SignedRequest) => CertificateClaim | Refused,
  rules: CertificateRules,
  { outside, toleranceMs }: { outside: Outside; toleranceMs: number },
): Verifier {
  const certificates = new Certificates(outside, rules)
  /** The verifier for one request: by then, the key is known and nothing has to be waited for. */
  const verifierOf = async (request: SignedRequest, nowMs: number): Promise<Verifier | Refused> => {
    const claim = read(request)
    if (claim instanceof Refused) return claim
    const found = await certificates.keyAt(claim.certificateUrl, nowMs)
    if (found instanceof Refused) return found
    const { key, prove } = found
    const { hash } = claim
    const matches = (signed: Claim["signed"], signature: string): boolean => {
      const bytes = decodeBase64(signature)
      const isRight = bytes !== undefined && verify(hash, joinSigned(signed), key, bytes)
      if (isRight) prove()
      return isRight
    }
    return signatureVerifier(
      { signsUrl: false, read: () => claim, spelling: BASE64 },
      [{ matches }],
      toleranceMs,
    )
  }
  return {
    needs: "body",
    signsUrl: false,
    toleranceMs,
    async verify(request, nowMs): Promise<Verdict> {
      const verifier = await verifierOf(request, nowMs)
      return verifier instanceof Refused ? verifier : verifier.verify(request, nowMs)
    },
    async explain(request, nowMs): Promise<Explanation> {
      const verifier = await verifierOf(request, nowMs)
      if (!(verifier instanceof Refused)) return verifier.explain(request, nowMs)
      return { ...NOTHING_READ, verdict: verifier, toleranceMs }
    },
  }
}

const BASE64 = { test: /^[A-Za-z0-9+/]{64,}={0,2}$/, words: "base64 of an RSA signature" }
