import type { Fetcher } from "../fetch/fetcher.ts"
import { verify } from "node:crypto"
import { Certificates, type CertificateRules } from "../fetch/certificates.ts"
import { joinSigned } from "./payload.ts"
import { decodeBase64 } from "./secrets.ts"
import { NOTHING_READ } from "./credential.ts"
import { signatureVerifier, type Claim } from "./signature.ts"
import { Refused, type SignedRequest, type Verifier } from "../verifier.ts"

/** A claim with the hash and the URL of the signer's certificate. */
export interface CertificateClaim extends Claim {
  readonly certificateUrl: string
  readonly hash: "sha1" | "sha256"
}

/** Verifies RSA signatures (PKCS #1 v1.5) by a certificate that the request points to. */
export function certificateVerifier(
  read: (request: SignedRequest) => CertificateClaim | Refused,
  rules: CertificateRules,
  { fetcher, toleranceMs }: { fetcher: Fetcher; toleranceMs: number },
): Verifier {
  const certificates = new Certificates(fetcher, rules)
  /** The verifier for one request, with its key fetched. */
  const verifierOf = async (request: SignedRequest, nowMs: number): Promise<Verifier | Refused> => {
    const claim = read(request)
    if (claim instanceof Refused) return claim
    const found = await certificates.keyAt(claim.certificateUrl, nowMs)
    if (found instanceof Refused) return found
    const { key, prove } = found
    const { hash } = claim
    const matches = (signed: Claim["signed"], signature: string): boolean => {
      const bytes = decodeBase64(signature)
      const isValid = bytes !== undefined && verify(hash, joinSigned(signed), key, bytes)
      if (isValid) prove()
      return isValid
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
    async verify(request, nowMs) {
      const verifier = await verifierOf(request, nowMs)
      return verifier instanceof Refused ? verifier : verifier.verify(request, nowMs)
    },
    async explain(request, nowMs) {
      const verifier = await verifierOf(request, nowMs)
      if (!(verifier instanceof Refused)) return verifier.explain(request, nowMs)
      return { ...NOTHING_READ, result: verifier, toleranceMs }
    },
  }
}

const BASE64 = { test: /^[A-Za-z0-9+/]{64,}={0,2}$/, words: "base64 of an RSA signature" }
