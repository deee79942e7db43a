import { mkdir } from "node:fs/promises"
import { join } from "node:path"

/** Paths of PEM files. */
export interface Certificates {
  readonly ca: string
  /** For 127.0.0.1 and localhost, signed by the CA. */
  readonly server: { readonly certificate: string; readonly key: string }
  /** For another host, signed by the CA. */
  readonly elsewhere: { readonly certificate: string; readonly key: string }
  /** Signed by the CA. */
  readonly client: { readonly certificate: string; readonly key: string }
  /** Of another CA, which signed nothing here. */
  readonly otherCa: string
}

/** Makes a CA and what it signs with openssl, for a day. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  await mkdir(folder, { recursive: true })
  const file = (name: string): string => join(folder, name)
  const request = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "1",
  ]
  const own = async (name: string): Promise<string> => {
    const certificate = file(`${name}.pem`)
    await openssl([...request, "-subj", `/CN=${name}`, "-keyout", file(`${name}.key`), "-out", certificate])
    return certificate
  }
  const signed = async (
    name: string,
    hosts = "IP:127.0.0.1,DNS:localhost",
  ): Promise<{ certificate: string; key: string }> => {
    const [certificate, key] = [file(`${name}.pem`), file(`${name}.key`)]
    const ca = ["-CA", file("ca.pem"), "-CAkey", file("ca.key")]
    const names = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=${hosts}`]
    await openssl([
      ...request,
      ...ca,
      ...names,
      "-addext",
      "basicConstraints=CA:FALSE",
      "-keyout",
      key,
      "-out",
      certificate,
    ])
    return { certificate, key }
  }
  const ca = await own("ca")
  const elsewhere = signed("elsewhere", "DNS:elsewhere.example")
  const [server, client, otherCa] = await Promise.all([signed("server"), signed("client"), own("other-ca")])
  return { ca, server, elsewhere: await elsewhere, client, otherCa }
}

async function openssl(args: readonly string[]): Promise<void> {
  const process = Bun.spawn(["openssl", ...args], { stdout: "pipe", stderr: "pipe" })
  const said = await process.stderr.text()
  if ((await process.exited) !== 0) throw new Error(`openssl ${args[0]} failed: ${said}`)
}
