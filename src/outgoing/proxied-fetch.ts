import ipaddr from "ipaddr.js"
import { hostname, networkInterfaces } from "node:os"
import manifest from "../../package.json" with { type: "json" }
import { certificateFailure } from "./certificate-failure.ts"

const WORDS: { readonly [code: string]: string } = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection closed; does the port expect https?",
  ENOTFOUND: "host name not found",
  EAI_AGAIN: "host name not found: no DNS server answers",
  EPROTO: "TLS handshake failed; does the port expect http?",
}

/** A request that failed on its way through a proxy; the error's name and code are those of the cause. */
export class ProxyFailure extends Error {
  readonly code: string | number | undefined
  /** `, through the proxy http://proxy.example:3128 (HTTPS_PROXY)` */
  readonly through: string

  constructor(through: string, cause: unknown) {
    super(`${fetchFailure(cause)}${through}`, { cause })
    const { name, code } = cause as Error & { readonly code?: string | number }
    this.name = name
    this.code = code
    this.through = through
  }
}

/**
 * Why a request failed, for the log. The caller names the server.
 *
 * @param caOption of the CAs that the server's certificate is checked against, where there is one
 */
export function fetchFailure(error: unknown, caOption?: string): string {
  if (error instanceof ProxyFailure) return `${fetchFailure(error.cause, caOption)}${error.through}`
  const { name, message, code = "" } = error as Error & { readonly code?: string | number }
  if (name === "TimeoutError") return "no answer in time"
  if (code === "UnexpectedRedirect") return "it redirects, which is not followed"
  if (code in WORDS) return WORDS[code]!
  const certificate = certificateFailure({ code, message })
  if (certificate === undefined) return message.replace(BUNS_ADVICE, "")
  const { words, isUntrusted } = certificate
  return `its certificate ${words}${isUntrusted && caOption !== undefined ? `; set ${caOption} to its CA` : ""}`
}

/** It has the URL, with its query. */
const BUNS_ADVICE = / fetching "[^]*$/

/** Whether a request surely did not reach its server, by the error that it failed with. */
export function isUnsent(error: unknown): boolean {
  const { code = "" } = error as { readonly code?: string | number }
  return (code in WORDS && code !== "ECONNRESET") || certificateFailure({ code }) !== undefined
}

/** The wait that a response's Retry-After asks for (RFC 9110, 10.2.3), in milliseconds, bounded; undefined: there is none. */
export function readRetryAfter(headers: Headers, longestMs: number, nowMs = Date.now()): number | undefined {
  const after = headers.get("retry-after") ?? ""
  const ms = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - nowMs
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestMs)
}

/*
 * Which requests go through a proxy is decided here, for all of Hookline: by the variables that curl and Bun read, but never
 * to this machine. Left to itself, Bun's fetch would send those to the proxy too, with the admin token.
 */

type Environment = { readonly [name: string]: string | undefined }

/** RFC 9110, 10.1.5 */
const USER_AGENT = `Hookline/${manifest.version}`

/** A variable of the environment that names a proxy. */
export interface ProxySetting {
  readonly variable: string
  /** With credentials; undefined: the value is unusable. */
  readonly url: URL | undefined
}

/**
 * `fetch`, through the proxy of the environment. With `proxy: false` it is not. Of the answer nothing is decompressed: Bun
 * prints what it can't decompress.
 *
 * @throws Error, ProxyFailure
 */
export async function proxiedFetch(url: string | URL, init: BunFetchRequestInit = {}): Promise<Response> {
  const proxy = init.proxy === false ? undefined : proxyFor(new URL(url))
  const headers = new Headers(init.headers)
  if (!headers.has("User-Agent")) headers.set("User-Agent", USER_AGENT)
  if (!headers.has("Accept-Encoding")) headers.set("Accept-Encoding", "identity")
  const request = { ...init, headers, decompress: false }
  if (proxy === undefined) return fetch(url, { ...request, proxy: false })
  if (proxy.url === undefined) throw new Error(describeUnusable(proxy))
  try {
    const response = await fetch(url, { ...request, proxy: { url: proxy.url, respectNoProxy: false } })
    if (response.status !== 407) return response
    await response.body?.cancel()
    throw new Error("HTTP 407: it requires other credentials")
  } catch (error) {
    throw new ProxyFailure(through(proxy), error)
  }
}

/** `, through the proxy http://proxy.example:3128 (HTTPS_PROXY)`, after what a server answered; empty where none is used. */
export function throughProxy(url: string | URL): string {
  const proxy = proxyFor(new URL(url))
  return proxy === undefined ? "" : through(proxy)
}

const through = (proxy: ProxySetting): string => `, through the proxy ${showProxy(proxy)}`

/** Without credentials: `http://proxy.example:3128 (HTTPS_PROXY)` */
export const showProxy = ({ variable, url }: ProxySetting): string =>
  `${url?.protocol}//${url?.host} (${variable})`

export const describeUnusable = ({ variable }: ProxySetting): string =>
  `${variable} in the environment is not the URL of an HTTP proxy; set it to http://HOST:PORT, or unset it`

/** The proxy of a URL's scheme, if the environment has one. Lower case counts before upper case. */
export function proxySetting(scheme: "http" | "https", env: Environment = process.env) {
  for (const name of [`${scheme}_proxy`, "all_proxy"])
    for (const variable of [name, name.toUpperCase()]) {
      const value = env[variable]?.trim() ?? ""
      if (value !== "") return readProxy(variable, value)
    }
  return undefined
}

/** A value without a scheme is one of http://. ALL_PROXY may be of another kind of proxy, for other programs. */
function readProxy(variable: string, value: string): ProxySetting | undefined {
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:"
  if (!isHttp && /^all_proxy$/i.test(variable)) return undefined
  return { variable, url: isHttp ? url : undefined }
}

/** undefined: it is requested directly */
export function proxyFor(url: URL, env: Environment = process.env): ProxySetting | undefined {
  const proxy = proxySetting(url.protocol === "https:" ? "https" : "http", env)
  return proxy === undefined || isThisMachine(url.hostname) || isExcepted(url, env) ? undefined : proxy
}

/** Whether NO_PROXY names a URL's host: `*`, a domain with its subdomains, an address or a block of them; each with a port. */
function isExcepted({ protocol, hostname, port }: URL, env: Environment): boolean {
  const host = unbracketed(hostname).toLowerCase()
  const actualPort = port || (protocol === "https:" ? "443" : "80")
  return noProxy(env).some((entry) => {
    if (entry === "*") return true
    if (entry.includes("/")) return isInBlock(host, entry)
    const [, v6, name = v6, onPort] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [undefined, entry]
    if (onPort !== undefined && onPort !== actualPort) return false
    const domain = name!.replace(/^\*?\./, "")
    return host === domain || (domain !== "" && host.endsWith(`.${domain}`))
  })
}

/** The entries of `no_proxy`, or else of NO_PROXY. */
export const noProxy = ({ no_proxy: lower, NO_PROXY: upper }: Environment = process.env): readonly string[] =>
  (lower || upper || "")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((it) => it !== "")

function isInBlock(host: string, block: string): boolean {
  if (!ipaddr.isValid(host) || !ipaddr.isValidCIDR(block)) return false
  const address = ipaddr.process(host)
  const [network, bits] = ipaddr.parseCIDR(block)
  return address.kind() === network.kind() && address.match(network, bits)
}

/** A URL's host without the brackets of an IPv6 address. */
export const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, "")

/** Whether a URL's host is this machine, by an address or its name. */
export function isThisMachine(host: string): boolean {
  const name = unbracketed(host).toLowerCase()
  if (name === "localhost" || name.endsWith(".localhost") || name === hostname().toLowerCase()) return true
  if (!ipaddr.isValid(name)) return false
  const address = ipaddr.process(name)
  if (["loopback", "unspecified"].includes(address.range())) return true
  const own = Object.values(networkInterfaces()).flat()
  return own.some((it) => it !== undefined && it.address === address.toString())
}
