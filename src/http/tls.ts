import { readCas, readCertificate, readPrivateKey } from "../process/pem-files.ts"

/** The options of a listener that name PEM files. */
interface TlsFiles {
  readonly tls_certificate?: string | undefined
  readonly tls_key?: string | undefined
  readonly tls_client_ca?: string | undefined
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
 * Reads TLS options of a listener; undefined: it speaks plain HTTP. With a client CA, connections without a certificate issued
 * by it are refused.
 *
 * @throws OptionError `config` of tls_certificate, tls_key or tls_client_ca
 */
export function readTls(files: TlsFiles): ListenerTls | undefined {
  const { tls_certificate: file, tls_key: keyFile, tls_client_ca: clientCa } = files
  if (file === undefined || keyFile === undefined) return undefined
  const [cert, certificate] = readCertificate("tls_certificate", file)
  const key = readPrivateKey("tls_key", keyFile, { certificate, of: "tls_certificate" })
  if (clientCa === undefined) return { cert, key }
  return { cert, key, ca: readCas("tls_client_ca", clientCa), requestCert: true, rejectUnauthorized: true }
}
