import { checkServerIdentity } from "node:tls"
import { readCertificate } from "../config/sections/pem-files.ts"

/** Names further CAs, as everywhere where there is no option of them. */
export const CA_VARIABLE = "NODE_EXTRA_CA_CERTS"

/**
 * How a server of `[admin]` is trusted by who has its certificate file: by the system's CAs, those of NODE_EXTRA_CA_CERTS, or
 * the file itself where it is its own CA; it presents the file's certificate or one for its host.
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
