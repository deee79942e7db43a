import { X509Certificate } from "node:crypto"

/** @throws Error that says what is wrong with it */
export function parseCertificate(pem: string): X509Certificate {
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) throw new Error("there is no certificate in it (PEM)")
  return new X509Certificate(pem)
}
