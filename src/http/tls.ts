import { createPrivateKey, type KeyObject, type X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { parseCertificate } from "../config/sections/certificate.ts"
import { HooklineError } from "../errors.ts"
import type { Route } from "./route.ts"

/** TLS options of a listener. @throws HooklineError `config` naming the key and the invalid file */
export function readTls({ pipeline, tls }: Route): Bun.TLSOptions | undefined {
  if (tls === undefined) return undefined
  const read = <T>(
    key: string,
    file: string,
    parse: (pem: string) => T,
  ): readonly [pem: string, parsed: T] => {
    try {
      const pem = readFileSync(file, "utf8")
      return [pem, parse(pem)]
    } catch (error) {
      const reason = (error as Error).message
      throw new HooklineError("config", `pipeline ${pipeline}: ${key} ${file}: ${reason}`, { cause: error })
    }
  }
  const [cert, certificate] = read("tls_certificate", tls.certificate, parseCertificate)
  const [key] = read("tls_key", tls.key, (pem) => checkKey(pem, certificate))
  if (tls.clientCa === undefined) return { cert, key }
  const [ca] = read("tls_client_ca", tls.clientCa, parseCertificate)
  return { cert, key, ca, requestCert: true, rejectUnauthorized: true }
}

function checkKey(pem: string, certificate: X509Certificate): KeyObject {
  if (!pem.includes("PRIVATE KEY-----")) throw new Error("no PEM private key in it")
  const key = createPrivateKey(pem)
  if (!certificate.checkPrivateKey(key)) throw new Error("does not match tls_certificate")
  return key
}
