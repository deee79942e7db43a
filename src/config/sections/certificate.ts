import { X509Certificate } from "node:crypto"

/** @throws Error with the problem */
export function parseCertificate(pem: string): X509Certificate {
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) throw new Error("no PEM certificate in it")
  return new X509Certificate(pem)
}
