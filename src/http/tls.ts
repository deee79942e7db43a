import { readCas, readCertificate, readPrivateKey } from "../config/sections/pem-files.ts"

/** Paths of a listener's PEM files. */
interface TlsFiles {
  readonly certificate: string
  readonly key: string
  readonly clientCa?: string | undefined
}

/** TLS options of a listener, as Bun takes them; texts in PEM. */
export interface ListenerTls {
  readonly cert: string
  readonly key: string
  /** CA of client certificates; every connection must have one then. */
  readonly ca?: string
  readonly requestCert?: true
  readonly rejectUnauthorized?: true
}

/**
 * Reads TLS options of a listener. With a client CA, connections without a certificate issued by it are refused.
 *
 * @throws OptionError `config` of tls_certificate, tls_key or tls_client_ca
 */
export function readTls({ certificate: file, key: keyFile, clientCa }: TlsFiles): ListenerTls {
  const [cert, certificate] = readCertificate("tls_certificate", file)
  const key = readPrivateKey("tls_key", keyFile, { certificate, of: "tls_certificate" })
  if (clientCa === undefined) return { cert, key }
  return { cert, key, ca: readCas("tls_client_ca", clientCa), requestCert: true, rejectUnauthorized: true }
}
