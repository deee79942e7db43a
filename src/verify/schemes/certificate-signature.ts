import { verify } from "node:crypto"
import { joined } from "../pieces.ts"
import { Certificates, type CertificateRules } from "../fetch/certificates.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { Refused, type SignedRequest, type Verifier } from "../verifier.ts"
import { credentialVerifier } from "./credential.ts"
import { checkFreshness } from "./freshness.ts"
import { decodeBase64 } from "./secrets.ts"
import { signatureVerifier, type Claim } from "./signature-verifier.ts"

/** A claim with the hash and the URL of the signer's certificate. */
export interface CertificateClaim extends Claim {
  readonly timestampMs: number
  readonly certificateUrl: string
  readonly hash: "sha1" | "sha256"
}

/**
 * Verifies RSA signatures (PKCS #1 v1.5) by a certificate that the request points to.
 *
 * @param also what else a request with a valid signature must pass
 */
export function certificateVerifier(
  read: (request: SignedRequest) => CertificateClaim | Refused,
  rules: CertificateRules,
  { fetcher, toleranceMs }: { fetcher: Fetcher; toleranceMs: number },
  also: (request: SignedRequest, nowMs: number) => Promise<Refused | undefined> = async () => undefined,
): Verifier {
  const certificates = new Certificates(fetcher, rules)
  return credentialVerifier<CertificateClaim>({
    needs: "body",
    isQuick: false,
    toleranceMs,
    read,
    async check(claim, request, nowMs) {
      // the time first: what is stale causes no fetch
      const late = checkFreshness(claim.timestampMs, nowMs, toleranceMs)
      if (late !== undefined) return late
      const found = await certificates.keyAt(claim.certificateUrl, nowMs)
      if (found instanceof Refused) return found
      const matches = (signed: Claim["signed"], signature: string): boolean => {
        const bytes = decodeBase64(signature)
        const isValid = bytes !== undefined && verify(claim.hash, joined(signed), found.key, bytes)
        if (isValid) found.prove()
        return isValid
      }
      const scheme = { signsUrl: false, read: () => claim, spelling: BASE64 }
      const result = await signatureVerifier(scheme, [{ matches }], toleranceMs).verify(request, nowMs)
      return result instanceof Refused ? result : ((await also(request, nowMs)) ?? result)
    },
    show: ({ signatures, signed, timestampMs }) => ({
      signed: joined(signed),
      received: signatures,
      timestampMs,
    }),
  })
}

const BASE64 = { test: /^[A-Za-z0-9+/]{64,}={0,2}$/, words: "base64 of an RSA signature" }
