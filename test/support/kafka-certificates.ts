import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { makeCertificate, type TestCertificate } from "./certificate.ts"

interface KeyPair {
  readonly certificate: string
  readonly key: string
  /** Both in one file, as Kafka's brokers read them. */
  readonly keystore: string
}

/** Paths of PEM files. */
export interface Certificates {
  readonly ca: string
  /** For 127.0.0.1 and localhost, signed by the CA. */
  readonly server: KeyPair
  /** For another host, signed by the CA. */
  readonly elsewhere: KeyPair
  /** Signed by the CA. */
  readonly client: KeyPair
  /** Certificate of another CA, which signed nothing here. */
  readonly otherCa: string
}

/** Makes a CA and what it signs. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  await mkdir(folder, { recursive: true })
  const nowMs = Date.now()
  const write = async (name: string, { pem, privateKey }: TestCertificate): Promise<KeyPair> => {
    const file = (ending: string): string => join(folder, `${name}.${ending}`)
    const pair = { certificate: file("pem"), key: file("key"), keystore: file("both") }
    const keyPem = privateKey.export({ format: "pem", type: "pkcs8" })
    await writeFile(pair.certificate, pem)
    await writeFile(pair.key, keyPem)
    await writeFile(pair.keystore, `${keyPem}${pem}`)
    return pair
  }
  const ca = makeCertificate("ca", { isCa: true, nowMs })
  const signed = (name: string, hosts: readonly string[]): Promise<KeyPair> =>
    write(name, makeCertificate(name, { issuer: ca, hosts, nowMs }))
  const hosts = ["127.0.0.1", "localhost"]
  return {
    ca: (await write("ca", ca)).certificate,
    server: await signed("server", hosts),
    elsewhere: await signed("elsewhere", ["elsewhere.example"]),
    client: await signed("client", hosts),
    otherCa: (await write("other-ca", makeCertificate("other-ca", { isCa: true, nowMs }))).certificate,
  }
}
