/** What is wrong with a server's certificate that is refused, by the codes of TLS. */

const WORDS: { readonly [code: string]: string } = {
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
  CERT_REVOKED: "was revoked",
  ERR_TLS_CERT_ALTNAME_INVALID: "is for another host",
}

const UNTRUSTED: { readonly [code: string]: string } = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "is self-signed, and not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "is from a CA that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "is from a CA that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "is from a CA that is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "is from a CA that is not trusted",
}

/** Codes of certificates, known or not. */
const CERTIFICATE = /CERT|VERIFY|SIGNATURE/

export interface CertificateFailure {
  /** Follows "its certificate". */
  readonly words: string
  /** Whether its CA, named as trusted, would make it pass. */
  readonly isUntrusted: boolean
}

/** @param error a failed connection's; undefined: it failed for another reason */
export function certificateFailure(error: {
  readonly code?: unknown
  readonly message?: string | undefined
}): CertificateFailure | undefined {
  const code = String(error.code ?? "")
  if (Object.hasOwn(WORDS, code)) return { words: WORDS[code]!, isUntrusted: false }
  if (!CERTIFICATE.test(code)) return undefined
  return { words: UNTRUSTED[code] ?? `is not trusted (${error.message ?? code})`, isUntrusted: true }
}
