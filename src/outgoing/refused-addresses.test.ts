import { afterEach, beforeEach, expect, test } from "bun:test"
import { makeCertificate } from "../../test/support/certificate.ts"
import { proxyEnvironment } from "../../test/support/forward-proxy.ts"
import { fetchFailure } from "./proxied-fetch.ts"
import { isOwnNetwork, pinnedFetch, refusedHost } from "./refused-addresses.ts"

test.each([
  ["169.254.169.254", true],
  ["[fe80::1]", true],
  ["[fd00:ec2::254]", true],
  ["100.100.100.200", true],
  ["[::ffff:a9fe:a9fe]", true],
  ["[fd00:ec2::23]", true],
  ["[FD00:0EC2:0:0::0023]", true],
  ["[fd20:ce::254]", true],
  ["[::ffff:169.254.169.254]", true],
  ["[64:ff9b::a9fe:a9fe]", true],
  ["[64:ff9b::169.254.169.254]", true],
  ["[64:ff9b::6464:64c8]", true],
  ["[64:ff9b:1:a9fe:a9:fe00::]", true],
  ["[64:ff9b:1:a9:fe:a9fe::]", true],
  ["[64:ff9b:1:0:a9:fea9:fe00::]", true],
  ["[64:ff9b:1::a9fe:a9fe]", true],
  ["[64:ff9b:1:fffe::a9fe:a9fe]", true],
  ["[2002:a9fe:a9fe::1]", true],
  ["[::ffff:0:a9fe:a9fe]", true],
  ["[::a9fe:a9fe]", true],
  ["[::169.254.169.254]", true],
  ["[64:ff9b::808:808]", false],
  ["[64:ff9b:1::808:808]", false],
  ["[64:ff9b:2::a9fe:a9fe]", false],
  ["[2002:808:808::a9fe:a9fe]", false],
  ["[::1]", false],
  ["127.0.0.1", false],
  ["10.0.0.1", false],
  ["[2606:4700::1111]", false],
  ["metadata.google.internal", false],
])("the host %s is refused: %p", (host, expected) => {
  expect(refusedHost(host) !== undefined).toBe(expected)
})

test.each([
  ["localhost", true],
  ["[::1]", true],
  ["[::7f00:1]", true],
  ["[::ffff:10.0.0.1]", true],
  ["[64:ff9b::10.0.0.1]", true],
  ["[64:ff9b:1::7f00:1]", true],
  ["[2002:7f00:1::]", true],
  ["[2002:c0a8:1::1]", true],
  ["[fd00::1]", true],
  ["[64:ff9b::808:808]", false],
  ["[2002:808:808::1]", false],
  ["[2606:4700::1111]", false],
])("the host %s is of this machine or a private network: %p", (host, expected) => {
  expect(isOwnNetwork(host)).toBe(expected)
})

const METADATA = "169.254.169.254"
// no name server knows it
const NAME = "app.test"
let server: Bun.Server<undefined> | undefined
let seen: string[]
const serve = (options: object = {}): Bun.Server<undefined> =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      seen.push(request.headers.get("host")!)
      return new Response()
    },
    ...options,
  })
beforeEach(() => {
  seen = []
})
afterEach(() => server?.stop(true))

/** Resolves a name to each of these in turn, the last one from then on. */
const answering = (...answers: string[][]) => {
  const left = [...answers]
  return async (): Promise<string[]> => (left.length > 1 ? left.shift()! : left[0]!)
}

const post = (fetch: ReturnType<typeof pinnedFetch>, url: string): Promise<string> =>
  fetch(url, { method: "POST", headers: new Headers() }).then(({ status }) => `${status}`, fetchFailure)

test("a request goes to the address that was checked, and a name that changes is checked before the next one", async () => {
  server = serve()
  const url = `http://${NAME}:${server.port}/hook`
  const kept = pinnedFetch(new URL(url), refusedHost, answering(["127.0.0.1"], [METADATA]))
  expect([await post(kept, url), await post(kept, url)]).toEqual(["200", "200"])
  const changed = pinnedFetch(new URL(url), refusedHost, answering(["127.0.0.1"], [METADATA]), 0)
  expect(await post(changed, url)).toBe("200")
  const expected = `${NAME}: ${METADATA} is a link-local or cloud metadata address, to which nothing is posted`
  expect(await post(changed, url)).toBe(expected)
  expect(seen).toEqual(Array(3).fill(`${NAME}:${server.port}`))
})

test("of several addresses, one that refuses connections is skipped, and a name with one that is not allowed is refused", async () => {
  server = serve()
  const url = `http://${NAME}:${server.port}/`
  const both = pinnedFetch(new URL(url), refusedHost, answering(["127.0.0.2", "127.0.0.1"]))
  expect(await Promise.all([post(both, url), post(both, url)])).toEqual(["200", "200"])
  const none = pinnedFetch(new URL(url), refusedHost, answering(["127.0.0.2", "127.0.0.3"]))
  expect(await post(none, url)).toBe("connection refused")
  const mixed = pinnedFetch(new URL(url), refusedHost, answering(["127.0.0.1", "::ffff:169.254.169.254"]))
  expect(await post(mixed, url)).toContain("link-local")
})

test("over TLS the certificate must be for the name, and connections are reused", async () => {
  const certificate = makeCertificate(NAME, { nowMs: Date.now() })
  const key = certificate.privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  const ports = new Set<number>()
  server = serve({
    tls: { cert: certificate.pem, key },
    fetch(request: Request, { requestIP }: Bun.Server<undefined>) {
      ports.add(requestIP.call(server!, request)!.port)
      return new Response()
    },
  })
  const postTo = async (name: string, times = 1): Promise<string> => {
    const url = `https://${name}:${server!.port}/`
    const fetch = pinnedFetch(new URL(url), refusedHost, answering(["127.0.0.1"]))
    const tls = { ca: certificate.pem }
    const all: string[] = []
    for (let n = 0; n < times; n++)
      all.push(
        await fetch(url, { headers: new Headers(), tls }).then(
          async (response) => (await response.text()) + response.status,
          fetchFailure,
        ),
      )
    return [...new Set(all)].join()
  }
  expect(await postTo(NAME, 5)).toBe("200")
  expect(ports.size).toBe(1)
  expect(await postTo("other.test")).toBe("its certificate is for another host")
})

test("a request to a name that is not found fails, and the next one resolves it again", async () => {
  server = serve()
  const url = `http://${NAME}:${server.port}/`
  let isKnown = false
  const fetch = pinnedFetch(new URL(url), refusedHost, async () => {
    if (isKnown) return ["127.0.0.1"]
    throw Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" })
  })
  expect(await post(fetch, url)).toBe("host name not found")
  isKnown = true
  expect(await post(fetch, url)).toBe("200")
})

test("through a proxy no name is resolved", async () => {
  server = serve()
  using _ = proxyEnvironment({ HTTP_PROXY: server.url.href })
  const url = `http://${NAME}/`
  expect(await post(pinnedFetch(new URL(url), refusedHost, answering([METADATA])), url)).toBe("200")
  expect(seen).toEqual([NAME])
})
