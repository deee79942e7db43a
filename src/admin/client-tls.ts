import { checkServerIdentity } from "node:tls"
import { readCertificate } from "../process/pem-files.ts"

/** The environment variable that names further CAs, where no option does. */
export const CA_VARIABLE = "NODE_EXTRA_CA_CERTS"

/**
 * TLS settings of a client of an `[admin]` listener, from the listener's certificate file. What the listener presents must be
 * the file's certificate, or one for its host; it is trusted by the system's CAs, by those of NODE_EXTRA_CA_CERTS, or by the
 * file itself where that is its own CA.
 *
 * @throws OptionError `config` of tls_certificate
 */
export function clientTls(file: string): BunFetchRequestInitTLS {
  const [pem, own] = readCertificate("tls_certificate", file)
  return {
    // a certificate that is its own CA is trusted by nothing else
    ...(own.checkIssued(own) && { ca: pem }),
    checkServerIdentity: (host, presented) =>
      presented.fingerprint256 === own.fingerprint256 ? undefined : checkServerIdentity(host, presented),
  }
}
