import { X509Certificate } from "node:crypto"

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Reads a certificate in PEM or DER, or a chain of them in PEM; undefined when it is something else. */
export function readCertificates(bytes: Uint8Array): X509Certificate[] | undefined {
  const pems = Buffer.from(bytes).toString("latin1").match(PEM)
  try {
    return pems === null ? [new X509Certificate(bytes)] : pems.map((pem) => new X509Certificate(pem))
  } catch {
    return undefined
  }
}

/** The names that a certificate is for: the DNS names of its subjectAltName, or, where it has none, its common name. */
export function namesOf({ subject, subjectAltName }: X509Certificate): readonly string[] {
  const alternative = [...(subjectAltName ?? "").matchAll(/(?:^|, )DNS:([^,]+)/g)].map(([, name]) => name!)
  const names = alternative.length > 0 ? alternative : (/^CN=(.*)$/m.exec(subject)?.slice(1) ?? [])
  return names.map((name) => name.toLowerCase())
}

/** Where the certificate of the issuer can be fetched (RFC 5280, 4.2.2.1, caIssuers); undefined: it does not say. */
export function issuerUrlOf({ infoAccess }: X509Certificate): string | undefined {
  const text = /^CA Issuers - URI:"?(https?:\/\/[^\s"]+)"?$/m.exec(infoAccess ?? "")?.[1]
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url?.port === "" && url.username === "" && url.password === ""
  // a host by its name: no address of this network
  return isPlain && /^(?:[a-z0-9-]+\.)+[a-z]{2,}$/.test(url.hostname) ? url.href : undefined
}

export const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)

/** The authorities that are trusted to sign others. */
export class Authorities {
  readonly #pems: readonly string[]
  #roots: readonly X509Certificate[] | undefined

  constructor(pems: readonly string[]) {
    this.#pems = pems
  }

  /** Whether a certificate is one of theirs, or signed by one. */
  trust(certificate: X509Certificate): boolean {
    // read when first needed: it takes some milliseconds
    this.#roots ??= this.#pems.map((pem) => new X509Certificate(pem))
    return this.#roots.some(
      (root) => root.fingerprint256 === certificate.fingerprint256 || isIssuedBy(certificate, root),
    )
  }
}
