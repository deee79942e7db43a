import { describe, expect, test } from "bun:test"
import { hostname } from "node:os"
import { connect } from "node:tls"
import { makeCertificate } from "../../test/support/certificate.ts"
import {
  PROXY_PASSWORD,
  proxyEnvironment,
  startForwardProxy,
  type ForwardProxy,
} from "../../test/support/forward-proxy.ts"
import { HANG_MS } from "../../test/support/hang.ts"
import { freePort } from "../../test/support/ports.ts"
import { reasonOf } from "../brokers/kafka/failure.ts"
import { hintOf } from "../brokers/kafka/hints.ts"
import { fetchBounded } from "./fetch-bounded.ts"
import { fetchFailure, proxiedFetch, proxyFor, showProxy } from "./proxied-fetch.ts"

const PROXY = "http://proxy.test:3128"

const proxyOf = (url: string, env: { [name: string]: string }): string | undefined => {
  const proxy = proxyFor(new URL(url), env)
  return proxy && (proxy.url === undefined ? `${proxy.variable} is unusable` : showProxy(proxy))
}

test.each([
  ["http://app.test/", { HTTP_PROXY: PROXY }, `${PROXY} (HTTP_PROXY)`],
  ["http://app.test/", { http_proxy: PROXY }, `${PROXY} (http_proxy)`],
  ["http://app.test/", { http_proxy: PROXY, HTTP_PROXY: "http://other.test" }, `${PROXY} (http_proxy)`],
  ["http://app.test/", { http_proxy: "", HTTP_PROXY: PROXY }, `${PROXY} (HTTP_PROXY)`],
  ["http://app.test/", { HTTPS_PROXY: PROXY }, undefined],
  ["https://app.test/", { HTTP_PROXY: PROXY }, undefined],
  ["https://app.test/", { HTTPS_PROXY: PROXY }, `${PROXY} (HTTPS_PROXY)`],
  ["https://app.test/", { https_proxy: PROXY }, `${PROXY} (https_proxy)`],
  ["https://app.test/", { ALL_PROXY: PROXY }, `${PROXY} (ALL_PROXY)`],
  [
    "http://app.test/",
    { all_proxy: PROXY, HTTP_PROXY: "http://other.test" },
    "http://other.test (HTTP_PROXY)",
  ],
  ["http://app.test/", { ALL_PROXY: "socks5://proxy.test:1080" }, undefined],
  ["http://app.test/", { HTTP_PROXY: "proxy.test:3128" }, `${PROXY} (HTTP_PROXY)`],
  ["http://app.test/", { HTTP_PROXY: "http://user:secret@proxy.test:3128/x" }, `${PROXY} (HTTP_PROXY)`],
  ["http://app.test/", { HTTP_PROXY: "https://proxy.test" }, "https://proxy.test (HTTP_PROXY)"],
  ["http://app.test/", { HTTP_PROXY: "socks5://proxy.test:1080" }, "HTTP_PROXY is unusable"],
  ["http://app.test/", { HTTP_PROXY: "http://[::1" }, "HTTP_PROXY is unusable"],
  ["http://app.test/", { HTTP_PROXY: "not a url" }, "HTTP_PROXY is unusable"],
  ["http://app.test/", {}, undefined],
])("the proxy of %s with %j is %s", (url, env, expected) => {
  expect(proxyOf(url, env)).toBe(expected)
})

test.each([
  "http://localhost:8080/",
  "http://LOCALHOST/",
  "http://hooks.localhost/",
  "http://127.0.0.1/",
  "http://127.1.2.3/",
  "http://[::1]:9464/",
  "http://[::ffff:127.0.0.1]/",
  "http://0.0.0.0:8080/",
  "http://[::]:8080/",
  `http://${hostname()}/`,
])("%s is this machine, and is never requested through a proxy", (url) => {
  expect(proxyOf(url, { http_proxy: PROXY, HTTP_PROXY: PROXY, ALL_PROXY: PROXY })).toBeUndefined()
  expect(proxyOf(url, { HTTP_PROXY: "not a url" })).toBeUndefined()
})

test.each([
  ["*", "http://app.test/", true],
  ["app.test", "http://app.test/", true],
  ["APP.test", "http://app.TEST/", true],
  ["app.test", "http://a.app.test/", true],
  [".app.test", "http://app.test/", true],
  ["*.app.test", "http://a.app.test/", true],
  ["app.test", "http://myapp.test/", false],
  ["other.test, app.test", "http://app.test/", true],
  ["other.test app.test", "http://app.test/", true],
  ["app.test:8080", "http://app.test:8080/", true],
  ["app.test:8080", "http://app.test/", false],
  ["app.test:80", "http://app.test/", true],
  ["10.1.2.3", "http://10.1.2.3/", true],
  ["10.0.0.0/8", "http://10.1.2.3/", true],
  ["10.0.0.0/8", "http://11.1.2.3/", false],
  ["10.0.0.0/8", "http://[fd00::5]/", false],
  ["fd00::/8", "http://[fd00::5]/", true],
  ["fd00::5", "http://[fd00::5]:8080/", true],
  ["[fd00::5]:8080", "http://[fd00::5]:8080/", true],
  ["[fd00::5]:8080", "http://[fd00::5]:8081/", false],
  ["10.0.0.0/99", "http://10.1.2.3/", false],
  ["", "http://app.test/", false],
  [" , .", "http://app.test/", false],
])("NO_PROXY = %j and %s: excepted is %p", (value, url, expected) => {
  for (const name of ["NO_PROXY", "no_proxy"])
    expect([name, proxyOf(url, { HTTP_PROXY: PROXY, [name]: value }) === undefined]).toEqual([name, expected])
})

describe("a request to another machine", () => {
  const certificate = makeCertificate("app.test", { nowMs: Date.now() })
  const key = certificate.privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  const fetch = async (request: Request): Promise<Response> => new Response(`got ${await request.text()}`)

  async function start() {
    const plain = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch })
    const secure = Bun.serve({ hostname: "127.0.0.1", port: 0, tls: { cert: certificate.pem, key }, fetch })
    // each test has its own: Bun keeps tunnels open
    const proxy = await startForwardProxy({ "plain.test": plain.port!, "app.test": secure.port! })
    return {
      proxy,
      async [Symbol.asyncDispose]() {
        await Promise.all([plain.stop(true), secure.stop(true), proxy[Symbol.asyncDispose]()])
      },
    }
  }
  const tls = { ca: certificate.pem }
  const failing = async (url: string, init: BunFetchRequestInit = {}): Promise<string> => {
    const error: unknown = await proxiedFetch(url, init).then(
      ({ status }) => new Error(`it was answered ${status}`),
      (error: unknown) => error,
    )
    const reason = fetchFailure(error)
    for (const text of [reason, (error as Error).message]) expect(text).not.toContain(PROXY_PASSWORD)
    return reason
  }
  const environment = ({ url }: Pick<ForwardProxy, "url">): Disposable =>
    proxyEnvironment({ HTTP_PROXY: url, https_proxy: url })

  test("goes through the proxy of the environment, by CONNECT for https", async () => {
    await using started = await start()
    using _ = environment(started.proxy)
    const post = async (url: string) => (await proxiedFetch(url, { method: "POST", body: "it", tls })).text()
    expect(await post("http://plain.test/a?b=c")).toBe("got it")
    expect(await post("https://app.test/a")).toBe("got it")
    expect(started.proxy.requests).toEqual(["POST http://plain.test/a?b=c", "CONNECT app.test:443"])
  })

  test.each([
    [
      "http://plain.test/",
      407,
      "HTTP 407: it requires other credentials, through the proxy PROXY (HTTP_PROXY)",
    ],
    [
      "https://app.test/",
      407,
      "Proxy refused to open a tunnel: 407 Refused, through the proxy PROXY (https_proxy)",
    ],
    [
      "https://app.test/",
      403,
      "Proxy refused to open a tunnel: 403 Refused, through the proxy PROXY (https_proxy)",
    ],
  ])("to %s that the proxy refuses with %d fails with the proxy's name", async (url, status, expected) => {
    await using started = await start()
    using _ = environment(started.proxy)
    started.proxy.refuses = status
    expect(await failing(url)).toBe(expected.replace("PROXY", started.proxy.shown))
  })

  test("that the proxy answers with 502 fails with the proxy's name", async () => {
    await using started = await start()
    using _ = environment(started.proxy)
    const fetched = fetchBounded({ fetch: proxiedFetch }, "http://unknown.test/", {
      mostBytes: 10,
      timeoutMs: HANG_MS,
    })
    await expect(fetched).rejects.toThrow(`HTTP 502, through the proxy ${started.proxy.shown} (HTTP_PROXY)`)
  })

  test.each(["http://plain.test/", "https://app.test/"])("to %s names a proxy that is down", async (url) => {
    const down = `http://127.0.0.1:${await freePort()}`
    using _ = proxyEnvironment({ ALL_PROXY: down.replace("//", `//proxy-user:${PROXY_PASSWORD}@`) })
    expect(await failing(url)).toBe(`connection refused, through the proxy ${down} (ALL_PROXY)`)
  })

  test("names a proxy that does not answer", async () => {
    using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
    using _ = environment({ url: `http://127.0.0.1:${silent.port}` })
    const signal = AbortSignal.timeout(200)
    expect(await failing("https://app.test/", { signal })).toBe(
      `no answer in time, through the proxy http://127.0.0.1:${silent.port} (https_proxy)`,
    )
  })

  test("whose server's certificate is not trusted names the option and the proxy, which may be what presents it", async () => {
    await using started = await start()
    using _ = environment(started.proxy)
    const error: unknown = await proxiedFetch("https://app.test/").catch((error: unknown) => error)
    expect(fetchFailure(error, "registry_ca_location")).toBe(
      `its certificate is self-signed, and not trusted; set registry_ca_location to its CA, through the proxy ${started.proxy.shown} (https_proxy)`,
    )
  })

  test("with a malformed value fails with the name of the variable, not its value", async () => {
    using _ = proxyEnvironment({ HTTP_PROXY: `socks5://user:${PROXY_PASSWORD}@proxy.test` })
    expect(await failing("http://plain.test/")).toBe(
      "HTTP_PROXY in the environment is not the URL of an HTTP proxy; set it to http://HOST:PORT, or unset it",
    )
  })
})

const nowMs = Date.now()
const authority = makeCertificate("Authority", { isCa: true, nowMs })
const unknown = makeCertificate("Unknown", { isCa: true, nowMs })
const hosts = ["localhost"]
const UNTRUSTED = "its certificate is from a CA that is not trusted; set tls_ca to its CA"

test.each([
  [
    "has expired",
    makeCertificate("localhost", { issuer: authority, hosts, days: 0, nowMs }),
    "its certificate has expired",
  ],
  [
    "begins tomorrow",
    makeCertificate("localhost", { issuer: authority, hosts, nowMs: nowMs + 2 * 86_400_000 }),
    "its certificate is not valid yet",
  ],
  [
    "is self-signed",
    makeCertificate("localhost", { hosts, nowMs }),
    "its certificate is self-signed, and not trusted; set tls_ca to its CA",
  ],
  ["is of another CA", makeCertificate("localhost", { issuer: unknown, hosts, nowMs }), UNTRUSTED],
  [
    "is of another CA, which comes with it",
    { ...makeCertificate("localhost", { issuer: unknown, hosts, nowMs }), chain: unknown.pem },
    UNTRUSTED,
  ],
  [
    "is for another name",
    makeCertificate("other", { issuer: authority, hosts: ["other.example"], nowMs }),
    "its certificate is for another host",
  ],
])(
  "a certificate that %s is refused in words, by a request and by a connection to Kafka",
  async (_, certificate, words) => {
    const { pem, privateKey, chain = "" } = { chain: "", ...certificate }
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert: pem + chain, key },
      fetch: () => new Response(),
    })
    const refused = (error: unknown): unknown => error
    const tls = { ca: authority.pem }
    const asked = await proxiedFetch(`https://localhost:${server.port}/`, { tls }).catch(refused)
    expect(fetchFailure(asked, "tls_ca")).toBe(words)
    const failed = Promise.withResolvers<Error>()
    const socket = connect({ host: "127.0.0.1", port: server.port!, servername: "localhost", ...tls })
    socket.on("error", failed.resolve).on("secureConnect", () => failed.resolve(new Error("it is trusted")))
    const error = await failed.promise
    socket.destroy()
    expect(reasonOf(error)).toBe(words.replace(/;.*/, ""))
    const hint = hintOf(error, { tlsFiles: {}, hasAnswered: false }, "connect")
    expect(hint).toBe(words.includes(";") ? "set ssl_ca_location to its CA" : undefined)
  },
)

describe("a request of Hookline's own", () => {
  test("says who asks, and asks for nothing compressed", async () => {
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ headers }) => Response.json([headers.get("user-agent"), headers.get("accept-encoding")]),
    })
    const url = `http://127.0.0.1:${server.port}/`
    const ask = async (headers: { [name: string]: string }): Promise<unknown> =>
      (await proxiedFetch(url, { headers })).json()
    expect(await ask({})).toEqual([expect.stringMatching(/^Hookline\/\d+\.\d+\.\d+/), "identity"])
    expect(await ask({ "user-agent": "app/1" })).toEqual(["app/1", "identity"])
  })

  test.each([
    ["gzip that was not asked for", "gzip", Bun.gzipSync("plain"), "plain"],
    ["what is no gzip", "gzip", "plain", "the response says that it is gzip, and is not"],
    [
      "gzip of more than it may have",
      "gzip",
      Bun.gzipSync(" ".repeat(101)),
      "the response is larger than 100 bytes",
    ],
    ["another coding", "br", "plain", 'the response has the content coding "br", which was not asked for'],
  ])("reads a body that says it has a content coding: %s", async (_, coding, body, expected) => {
    await using server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(body, { headers: { "Content-Encoding": coding } }),
    })
    const read = fetchBounded({ fetch: proxiedFetch }, `http://127.0.0.1:${server.port}/`, {
      mostBytes: 100,
      timeoutMs: HANG_MS,
    })
    expect(await read.then(({ bytes }) => Buffer.from(bytes).toString(), fetchFailure)).toBe(expected)
  })
})
