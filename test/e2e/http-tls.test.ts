import { beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readTls } from "../../src/http/tls.ts"
import { folderOfTests } from "../support/hookline.ts"
import { serve } from "../support/http-server.ts"
import { openSocket, post } from "../support/http-socket.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import { freePort } from "../support/ports.ts"

const folder = folderOfTests()
let files: Certificates
let own: { readonly tls_certificate: string; readonly tls_key: string }
beforeAll(async () => {
  files = await makeCertificates(folder.path)
  const { certificate, key } = files.server
  own = { tls_certificate: certificate, tls_key: key }
})

const trusting = (tls: object = {}): object => ({
  method: "POST",
  body: "{}",
  tls: { ca: Bun.file(files.ca), ...tls },
})

test("a port with a certificate speaks HTTPS, and plain HTTP there does no harm", async () => {
  await using it = serve({ tls: readTls(own) })
  expect(it.url).toStartWith("https://")
  using plain = await openSocket(it.port)
  plain.send(`${post("Content-Length: 2")}{}`)
  expect(await plain.ended).not.toContain("200")
  const answer = await fetch(`https://127.0.0.1:${it.port}/webhook`, trusting())
  expect(answer.status).toBe(200)
  expect(it.events).toHaveLength(1)
})

test("with a client CA a sender without its certificate, or with another's, is not let in", async () => {
  await using it = serve({ tls: readTls({ ...own, tls_client_ca: files.ca }) })
  const url = `https://127.0.0.1:${it.port}/webhook`
  await expect(fetch(url, trusting())).rejects.toThrow()
  const { certificate, key } = files.client
  const other = { cert: Bun.file(files.otherCa), key: Bun.file(files.otherCa.replace(/pem$/, "key")) }
  await expect(fetch(url, trusting(other))).rejects.toThrow()
  const answer = await fetch(url, trusting({ cert: Bun.file(certificate), key: Bun.file(key) }))
  expect(answer.status).toBe(200)
  expect(it.events).toHaveLength(1)
})

test("a file that is missing or not what it should be is reported by its key and name", () => {
  const garbage = join(folder.path, "garbage.pem")
  writeFileSync(garbage, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
  const { tls_certificate: certificate, tls_key: key } = own
  const cases = [
    [
      { ...own, tls_certificate: `${folder.path}/none` },
      "tls_certificate",
      `${folder.path}/none does not exist`,
    ],
    [{ ...own, tls_certificate: garbage }, "tls_certificate", `${garbage}: `],
    [{ ...own, tls_certificate: key }, "tls_certificate", `${key}: no PEM certificate in it`],
    [{ ...own, tls_key: certificate }, "tls_key", `${certificate}: no PEM private key in it`],
    [{ ...own, tls_key: files.client.key }, "tls_key", `${files.client.key}: does not match tls_certificate`],
    [{ ...own, tls_client_ca: key }, "tls_client_ca", `${key}: no PEM certificate in it`],
  ] as const
  for (const [tls, option, message] of cases)
    expect(() => readTls(tls)).toThrow(
      expect.objectContaining({ key: option, message: expect.stringContaining(message) }),
    )
})

test("routes of one port with different TLS settings are refused", async () => {
  const port = await freePort()
  const tls = readTls(own)
  expect(() => serve([{ port }, { port, path: "/other", tls }])).toThrow("but not their TLS settings")
})
