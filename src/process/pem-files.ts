import { readRegularFile } from "./regular-file.ts"
import { createPrivateKey, X509Certificate } from "node:crypto"
import { whyUnreadable } from "./paths.ts"
import { OptionError } from "../errors.ts"
import { message, named } from "../message.ts"

/*
 * PEM files that options name. Each function reads one, and checks that it is usable.
 *
 * `key` is the option's; throws OptionError `config` of it.
 */

/** A file of CA certificates. */
export function readCas(key: string, file: string): string {
  return read(key, file, (pem) => {
    for (const certificate of certificatesIn(pem)) void new X509Certificate(certificate)
  })[0]
}

/** A certificate, followed by those of its chain. */
export function readCertificate(key: string, file: string): readonly [pem: string, first: X509Certificate] {
  return read(key, file, (pem) => certificatesIn(pem).map((it) => new X509Certificate(it))[0]!)
}

/** The private key of a certificate. @param of the certificate's option */
export function readPrivateKey(
  key: string,
  file: string,
  { certificate, of }: { certificate: X509Certificate; of: string },
): string {
  return read(key, file, (pem) => {
    if (!pem.includes("PRIVATE KEY-----")) throw new Error("no PEM private key in it")
    if (!certificate.checkPrivateKey(createPrivateKey(pem)))
      throw new OptionError("config", key, message`${file}: does not match ${named(of)}`)
  })[0]
}

/** An option's name, and the file that it names, if it is set. */
type NamedFile = readonly [key: string, file: string | undefined]

/** The CAs that a client trusts, and its certificate and key; absent where their options are not set. */
export function readClientTls(options: { readonly [part in "ca" | "certificate" | "key"]: NamedFile }): {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
} {
  const [caOption, caFile] = options.ca
  const [of, file] = options.certificate
  const [keyOption, keyFile] = options.key
  const trusted = caFile === undefined ? {} : { ca: readCas(caOption, caFile) }
  if (file === undefined || keyFile === undefined) return trusted
  const [cert, certificate] = readCertificate(of, file)
  return { ...trusted, cert, key: readPrivateKey(keyOption, keyFile, { certificate, of }) }
}

function certificatesIn(pem: string): readonly string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g)
  if (found === null) throw new Error("no PEM certificate in it")
  return found
}

/** A PEM file of another kind. */
export const readPem = <T>(key: string, file: string, parse: (pem: string) => T): T =>
  read(key, file, parse)[1]

function read<T>(key: string, file: string, parse: (pem: string) => T): readonly [pem: string, parsed: T] {
  let pem
  try {
    pem = readRegularFile(file).toString()
  } catch (cause) {
    throw new OptionError("config", key, `${file} ${whyUnreadable(cause)}`, { cause })
  }
  try {
    return [pem, parse(pem)]
  } catch (cause) {
    if (cause instanceof OptionError) throw cause
    throw new OptionError("config", key, `${file}: ${(cause as Error).message}`, { cause })
  }
}
