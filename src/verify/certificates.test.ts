import { expect, test } from "bun:test"
import { makeCertificate } from "../../test/support/certificate.ts"
import { Certificates } from "./certificates.ts"
import { Refused } from "./verifier.ts"

const NOW = 1_790_000_000_000
const nowMs = NOW
const root = makeCertificate("Root", { isCa: true, nowMs })
const middle = makeCertificate("Middle", { issuer: root, isCa: true, nowMs })
const leaf = makeCertificate("certs.provider.example", { issuer: middle, nowMs })
const URL_OF_KEYS = "https://certs.provider.example/1.pem"

const open = (pem: string | Response, rules: { chain?: boolean } = { chain: true }) => {
  const fetched: string[] = []
  const certificates = new Certificates(
    {
      fetch: async (url, init) => {
        // where a host redirects to has not been looked at
        expect(init?.redirect).toBe("error")
        fetched.push(url)
        return typeof pem === "string" ? new Response(pem) : pem
      },
      rootCertificates: [root.pem],
    },
    {
      allows: ({ hostname }) => hostname === "certs.provider.example",
      chain: rules.chain === true ? (name) => name.endsWith(".provider.example") : undefined,
    },
  )
  return { certificates, fetched }
}
const reasonAt = async (pem: string | Response, nowMs = NOW): Promise<string> => {
  const key = await open(pem).certificates.keyAt(URL_OF_KEYS, nowMs)
  return key instanceof Refused ? `${key.reason}: ${key.detail}` : "believed"
}

test("a chain that leads to a trusted authority is believed, and fetched once", async () => {
  const { certificates, fetched } = open(leaf.pem + middle.pem)
  for (let i = 0; i < 3; i++) expect(await certificates.keyAt(URL_OF_KEYS, NOW)).not.toBeInstanceOf(Refused)
  expect(fetched).toEqual([URL_OF_KEYS])
})

test("who waits for the same certificate waits for one fetch, and not many may wait at all", async () => {
  const { certificates, fetched } = open(leaf.pem + middle.pem)
  const at = (n: number) => certificates.keyAt(`https://certs.provider.example/${n}.pem`, NOW)
  const keys = await Promise.all([1, 1, 2, 3, 4, 5].map(at))
  expect(fetched.length).toBe(4)
  expect(keys.map((key): string => (key instanceof Refused ? key.reason : "believed"))).toEqual([
    ...Array.from({ length: 5 }, () => "believed"),
    "keys_unavailable",
  ])
  expect(await at(5)).not.toBeInstanceOf(Refused)
})

test.each([
  ["the authority's own certificate in it", leaf.pem + middle.pem + root.pem, "believed"],
  ["a link that is missing", leaf.pem, "wrong_claim: the certificate does not lead to a trusted authority"],
  [
    "links in disorder",
    leaf.pem + root.pem + middle.pem,
    "wrong_claim: the certificates do not lead to each other",
  ],
  [
    "another authority",
    makeCertificate("certs.provider.example", { nowMs }).pem,
    "wrong_claim: the certificate does not lead to a trusted authority",
  ],
  [
    "an issuer that is no authority",
    makeCertificate("x.provider.example", { issuer: leaf, nowMs }).pem + leaf.pem + middle.pem,
    "wrong_claim: the certificates do not lead to each other",
  ],
  [
    "another's name",
    makeCertificate("certs.other.example", { issuer: root, nowMs }).pem,
    "wrong_claim: the certificate is not the provider's",
  ],
  [
    "a certificate that has run out",
    makeCertificate("certs.provider.example", { issuer: root, days: 0, nowMs }).pem,
    "wrong_claim: the certificate is not valid now",
  ],
  ["no certificate", "<html></html>", "keys_unavailable: what was fetched is no certificate"],
  [
    "a broken certificate",
    leaf.pem.replace(/[A-Za-z]{20}/, "A".repeat(20)),
    "keys_unavailable: what was fetched is no certificate",
  ],
])("a chain with %s", async (_name, pem, expected) => {
  expect(await reasonAt(pem)).toBe(expected)
})

test("an error of the host is told from a wrong certificate, and tried again the next time", async () => {
  const { certificates, fetched } = open(new Response("", { status: 503 }))
  for (let i = 0; i < 2; i++)
    expect(await certificates.keyAt(URL_OF_KEYS, NOW)).toMatchObject({ reason: "keys_unavailable" })
  expect(fetched.length).toBe(2)
})

test.each([
  "https://certs.provider.example.evil.example/1.pem",
  "http://certs.provider.example/1.pem",
  "https://certs.provider.example:8443/1.pem",
  "https://user@certs.provider.example/1.pem",
  "https://evil.example/certs.provider.example/1.pem",
  "file:///etc/passwd",
  "https://certs.provider.example/1.pem, https://certs.provider.example/1.pem",
  "1.pem",
  "",
])("nothing is fetched from %j", async (url) => {
  const { certificates, fetched } = open(leaf.pem)
  expect(await certificates.keyAt(url, NOW)).toMatchObject({ reason: "wrong_claim" })
  expect(fetched).toEqual([])
})
