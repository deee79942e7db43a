import { expect, test } from "bun:test"
import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { rootCertificates } from "node:tls"
import { makeCertificate } from "../../../test/support/certificate.ts"
import { Certificates } from "./certificates.ts"
import { makeVerifier } from "../presets/providers.ts"
import { Refused } from "../verifier.ts"

const NOW = 1_790_000_000_000
const nowMs = NOW
const root = makeCertificate("Root", { isCa: true, nowMs })
const middle = makeCertificate("Middle", { issuer: root, isCa: true, nowMs })
const leaf = makeCertificate("certs.provider.example", { issuer: middle, nowMs })
const short = makeCertificate("Short", { issuer: root, isCa: true, bits: 1024, nowMs })
const ORIGIN = "https://certs.provider.example"
const URL_OF_KEYS = `${ORIGIN}/1.pem`

type Serve = (url: string) => Response | Promise<Response>

const open = (serve: string | Serve) => {
  const fetched: string[] = []
  const certificates = new Certificates(
    {
      fetch: async (url, init) => {
        // where a host redirects to has not been looked at
        expect(init?.redirect).toBe("error")
        fetched.push(url)
        return typeof serve === "string" ? new Response(serve) : serve(url)
      },
      rootCertificates: [root.pem],
    },
    {
      allows: ({ hostname, pathname }) =>
        hostname === "certs.provider.example" && /^\/\w+\.pem$/.test(pathname),
      isFor: (names) => names.some((name) => name.endsWith(".provider.example")),
    },
  )
  return { certificates, fetched }
}
const wordsFor = async (certificates: Certificates, url: string, nowMs = NOW): Promise<string> => {
  const key = await certificates.keyAt(url, nowMs)
  return key instanceof Refused ? `${key.reason}: ${key.detail}` : "believed"
}
const PEM = leaf.pem + middle.pem

test("a trusted chain is accepted, and fetched once", async () => {
  const { certificates, fetched } = open(PEM)
  for (let i = 0; i < 3; i++) expect(await wordsFor(certificates, URL_OF_KEYS)).toBe("believed")
  expect(fetched).toEqual([URL_OF_KEYS])
})

test.each([
  ["the authority's own certificate in it", PEM + root.pem, "believed"],
  ["a link that is missing", leaf.pem, "wrong_claim: untrusted certificate chain"],
  ["links in disorder", leaf.pem + root.pem + middle.pem, "wrong_claim: broken certificate chain"],
  [
    "another authority",
    makeCertificate("certs.provider.example", { nowMs }).pem,
    "wrong_claim: untrusted certificate chain",
  ],
  [
    "an issuer that is no authority",
    makeCertificate("x.provider.example", { issuer: leaf, nowMs }).pem + PEM,
    "wrong_claim: broken certificate chain",
  ],
  [
    "another's name",
    makeCertificate("certs.other.example", { issuer: root, nowMs }).pem,
    "wrong_claim: the certificate is for another name",
  ],
  [
    "a certificate that has run out",
    makeCertificate("certs.provider.example", { issuer: root, days: 0, nowMs }).pem,
    "wrong_claim: the certificate is expired or not yet valid",
  ],
  [
    "a key of 1024 bits",
    makeCertificate("certs.provider.example", { issuer: root, bits: 1024, nowMs }).pem,
    "wrong_claim: the certificate chain has an RSA key of 1024 bits; at least 2048 are required",
  ],
  [
    "an authority's key of 1024 bits",
    makeCertificate("certs.provider.example", { issuer: short, nowMs }).pem + short.pem,
    "wrong_claim: the certificate chain has an RSA key of 1024 bits; at least 2048 are required",
  ],
  ["no certificate", "<html></html>", "keys_unavailable: fetching the certificate failed: not a certificate"],
  [
    "a broken certificate",
    leaf.pem.replace(/[A-Za-z]{20}/, "A".repeat(20)),
    "keys_unavailable: fetching the certificate failed: not a certificate",
  ],
  [
    "more bytes than any",
    PEM + " ".repeat(65_536),
    "keys_unavailable: fetching the certificate failed: the response is larger than 65536 bytes",
  ],
])("a chain with %s", async (_name, pem, expected) => {
  const { certificates } = open(pem)
  expect(await wordsFor(certificates, URL_OF_KEYS)).toBe(expected)
  // and the same is said while it is not fetched again
  expect(await wordsFor(certificates, URL_OF_KEYS)).toBe(expected)
})

test("a failed URL is fetched again after ever longer pauses", async () => {
  const { certificates, fetched } = open(() => new Response("", { status: 503 }))
  const fetchedAt: number[] = []
  for (let second = 0; second < 20; second++) {
    const before = fetched.length
    expect(await wordsFor(certificates, URL_OF_KEYS, NOW + second * 1000)).toContain("keys_unavailable")
    if (fetched.length > before) fetchedAt.push(second)
  }
  expect(fetchedAt).toEqual([0, 1, 3, 7, 15])
})

test("strangers' URLs do not delay the provider's own: the one with most callers is next", async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const { certificates, fetched } = open(async (url) => {
    if (url === URL_OF_KEYS) return new Response(PEM)
    await answered
    return new Response("", { status: 404 })
  })
  const strangers = Array.from({ length: 200 }, (_, n) => wordsFor(certificates, `${ORIGIN}/x${n}.pem`))
  const own = Array.from({ length: 3 }, () => wordsFor(certificates, URL_OF_KEYS))
  const more = Array.from({ length: 200 }, (_, n) => wordsFor(certificates, `${ORIGIN}/y${n}.pem`))
  // four at a time
  expect(fetched.length).toBe(4)
  answer()
  expect(await Promise.all(own)).toEqual(["believed", "believed", "believed"])
  expect(fetched.indexOf(URL_OF_KEYS)).toBe(4)
  for (const words of await Promise.all([...strangers, ...more])) expect(words).toContain("keys_unavailable")
  // the rest never had a turn
  expect(fetched.length).toBeLessThan(80)
})

test("certificates that verified a signature stay cached", async () => {
  const { certificates, fetched } = open(PEM)
  const own = await certificates.keyAt(URL_OF_KEYS, NOW)
  if (own instanceof Refused) throw new Error(own.detail)
  own.prove()
  for (let n = 0; n < 40; n++) await certificates.keyAt(`${ORIGIN}/x${n}.pem`, NOW)
  const before = fetched.length
  expect(await wordsFor(certificates, URL_OF_KEYS)).toBe("believed")
  expect(fetched.length).toBe(before)
})

test.each([
  "https://certs.provider.example.evil.example/1.pem",
  "http://certs.provider.example/1.pem",
  "https://certs.provider.example:8443/1.pem",
  "https://certs.provider.example:443/1.pem",
  "https://user@certs.provider.example/1.pem",
  "https://evil.example/certs.provider.example/1.pem",
  "https://certs.provider.example/1.pem?n=1",
  "https://certs.provider.example/1.pem?",
  "https://certs.provider.example/1.pem#",
  "https://certs.provider.example/1.pem#n",
  "https://certs.provider.example/x/../1.pem",
  "https://certs.provider.example\\1.pem",
  "HTTPS://certs.provider.example/1.pem",
  " https://certs.provider.example/1.pem",
  "file:///etc/passwd",
  "https://certs.provider.example/1.pem, https://certs.provider.example/1.pem",
  "1.pem",
  "",
])("nothing is fetched from %j", async (url) => {
  const { certificates, fetched } = open(leaf.pem)
  expect(await certificates.keyAt(url, NOW)).toMatchObject({ reason: "wrong_claim" })
  expect(fetched).toEqual([])
})

/** A message that Amazon sent, the certificate that it was signed by, and that certificate's issuer, as Amazon serves them. */
const amazon = (name: string): Buffer =>
  readFileSync(join(import.meta.dir, "../../../test/support/amazon", name))
const SENT_MS = Date.parse("2026-03-06T20:00:27Z")
const SIGNED_BY =
  "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"
const ISSUER = "http://crt.r2m01.amazontrust.com/r2m01.cer"
const TOPIC = "arn:aws:sns:us-west-2:131990247566:dongie-standard-topic"

async function judgeAmazon({
  topic = TOPIC,
  pem = amazon("sns-signing.pem"),
  atMs = SENT_MS,
  url = SIGNED_BY,
}) {
  const fetched: string[] = []
  const served: { readonly [url: string]: Uint8Array } = {
    [SIGNED_BY]: pem,
    [ISSUER]: new X509Certificate(amazon("rsa-2048-m01.pem")).raw,
  }
  const fetcher = {
    rootCertificates,
    fetch: async (url: string) => {
      fetched.push(url)
      return url in served ? new Response(served[url]) : new Response("", { status: 404 })
    },
  }
  const body = Buffer.from(amazon("notification.json").toString().replace(SIGNED_BY, url))
  const request = { method: "POST", path: "/", query: "", url: "", headers: new Headers(), body }
  const result = await makeVerifier("aws-sns", { topic_arn: topic }, fetcher).verify(request, atMs)
  return { result, fetched }
}

test("Amazon's own message is verified by Amazon's certificate, whose missing issuer is fetched", async () => {
  const { result, fetched } = await judgeAmazon({})
  expect(result).toMatchObject({ kind: "verified", id: "9d2c5580-b61d-550c-8583-37a582870907" })
  expect(fetched).toEqual([SIGNED_BY, ISSUER])
})

test.each([
  ["of another region's host", { url: SIGNED_BY.replace("us-west-2", "eu-west-1") }, 0],
  ["at another path of the host", { url: SIGNED_BY.replace("SimpleNotificationService-", "Other-") }, 0],
  ["with a query", { url: `${SIGNED_BY}?x=1` }, 0],
  ["that has run out", { atMs: Date.parse("2026-10-15T00:00:01Z") }, 2],
  [
    "that leads to no authority",
    { pem: Buffer.from(makeCertificate("sns.amazonaws.com", { nowMs: SENT_MS }).pem) },
    1,
  ],
  ["that is for another name", { pem: amazon("rsa-2048-m01.pem") }, 1],
] as const)("a certificate %s is not believed", async (_name, change, fetches) => {
  const { result, fetched } = await judgeAmazon(change)
  expect(result).toMatchObject({ kind: "refused", reason: "wrong_claim" })
  expect(fetched.length).toBe(fetches)
})
