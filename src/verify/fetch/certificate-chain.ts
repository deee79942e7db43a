import { Buffer } from "node:buffer"
import { X509Certificate } from "node:crypto"

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Parses a certificate in PEM or DER, or a chain in PEM; undefined if malformed. */
export function readCertificates(bytes: Uint8Array): X509Certificate[] | undefined {
  const pems = Buffer.from(bytes).toString("latin1").match(PEM)
  try {
    return pems === null ? [new X509Certificate(bytes)] : pems.map((pem) => new X509Certificate(pem))
  } catch {
    return undefined
  }
}

/** A certificate's DNS names from subjectAltName, else its common name. */
export function namesOf({ subject, subjectAltName }: X509Certificate): readonly string[] {
  const alternative = [...(subjectAltName ?? "").matchAll(/(?:^|, )DNS:([^,]+)/g)].map(([, name]) => name!)
  const names = alternative.length > 0 ? alternative : (/^CN=(.*)$/m.exec(subject)?.slice(1) ?? [])
  return names.map((name) => name.toLowerCase())
}

/** The URL of the issuer's certificate (RFC 5280, 4.2.2.1, caIssuers), if any. */
export function issuerUrlOf({ infoAccess }: X509Certificate): string | undefined {
  const text = /^CA Issuers - URI:"?(https?:\/\/[^\s"]+)"?$/m.exec(infoAccess ?? "")?.[1]
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url?.port === "" && url.username === "" && url.password === ""
  // a DNS name only: no address of a private network
  return isPlain && /^(?:[a-z0-9-]+\.)+[a-z]{2,}$/.test(url.hostname) ? url.href : undefined
}

export const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)

/** Says whether a certificate is one of these roots or issued by one. */
export function trustIn(pems: readonly string[]): (certificate: X509Certificate) => boolean {
  // parsed on first use: it takes some milliseconds
  let roots: readonly X509Certificate[] | undefined
  return (certificate) =>
    (roots ??= pems.map((pem) => new X509Certificate(pem))).some(
      (root) => root.fingerprint256 === certificate.fingerprint256 || isIssuedBy(certificate, root),
    )
}
