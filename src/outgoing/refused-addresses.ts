import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import ipaddr from "ipaddr.js"
import { steadyMs } from "../clock/clock.ts"
import { addressTest, asMeant } from "../addresses/addresses.ts"
import { HooklineError } from "../errors.ts"
import { isThisMachine, proxiedFetch, proxyFor, unbracketed } from "./proxied-fetch.ts"

/*
 * Addresses that no record is posted to: those of the link, where clouds have their metadata services, and the metadata
 * addresses that are elsewhere. A name is resolved at most once in CHECKED_MS, its addresses are checked, and the request
 * goes to one of these, whatever the name leads to by then. Through a proxy the proxy resolves it.
 */

/** Why nothing is posted to a host that is an address; undefined: it is none, or one that is allowed. */
export type AddressRule = (host: string) => string | undefined

/**
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html,
 * https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html,
 * https://cloud.google.com/compute/docs/metadata/querying-metadata; Alibaba Cloud, Oracle Cloud, Azure
 */
const METADATA = [
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
  "100.100.100.200",
  "192.0.0.192",
  "168.63.129.16",
]
const isRefused = addressTest(["169.254.0.0/16", "fe80::/10", ...METADATA])
const CHECKED_MS = 10_000

/** The rule for URLs of the configuration. */
export const refusedHost: AddressRule = (host) => {
  const name = unbracketed(host)
  const refused = [name, ...embeddedIn(name)].find(isRefused)
  return refused === undefined
    ? undefined
    : `${refused} is a link-local or cloud metadata address, to which nothing is posted`
}

/** Whether a host is this machine, or an address that is not public. */
export function isOwnNetwork(host: string): boolean {
  const name = unbracketed(host)
  if (isThisMachine(name)) return true
  const embedded = embeddedIn(name)
  return (embedded.length > 0 ? embedded : [name]).some(
    (it) => isThisMachine(it) || (isIP(it) !== 0 && ipaddr.process(asMeant(it)).range() !== "unicast"),
  )
}

/** The IPv4 addresses that an IPv6 address may be translated or tunnelled to; none: it is another host. */
function embeddedIn(host: string): readonly string[] {
  if (isIP(host) !== 6) return []
  const bytes = ipaddr.process(asMeant(host)).toByteArray()
  const form = bytes.length === 16 ? EMBEDDING.find(({ prefix }) => startsWith(bytes, prefix)) : undefined
  return (form?.at ?? []).map((places) => places.map((at) => bytes[at]).join("."))
}

const startsWith = (bytes: readonly number[], prefix: readonly number[]): boolean =>
  prefix.every((byte, at) => bytes[at] === byte)

const LAST = [12, 13, 14, 15]

/** Prefixes, and where addresses behind them have an IPv4 address. (`::ffff:0:0/96` is read as IPv4 everywhere.) */
const EMBEDDING: readonly {
  readonly prefix: readonly number[]
  readonly at: readonly (readonly number[])[]
}[] = [
  // 64:ff9b::/96, NAT64: RFC 6052
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], at: [LAST] },
  // 64:ff9b:1::/48, NAT64 of a network's own: RFC 8215, with prefixes of 48, 56, 64 and 96 bits of RFC 6052
  {
    prefix: [0, 0x64, 0xff, 0x9b, 0, 1],
    at: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST],
  },
  // 2002::/16, 6to4: RFC 3056
  { prefix: [0x20, 0x02], at: [[2, 3, 4, 5]] },
  // ::ffff:0:0:0/96, IPv4-translated: RFC 2765
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0], at: [LAST] },
  // ::/96, IPv4-compatible: RFC 4291, 2.5.5.1
  { prefix: Array<number>(12).fill(0), at: [LAST] },
]

/**
 * Makes a `fetch` for one URL, of which each request may change all but the host.
 *
 * @param everyMs after which the name is resolved again
 */
export function pinnedFetch(
  url: URL,
  rule: AddressRule,
  resolve: Resolve = resolveHost,
  everyMs = CHECKED_MS,
) {
  const name = unbracketed(url.hostname)
  let untilMs = 0
  let found: Promise<readonly string[]> = Promise.resolve([])
  /** Index in `found` of the address that is tried first. */
  let first = 0
  const addresses = (): Promise<readonly string[]> => {
    if (steadyMs() < untilMs) return found
    untilMs = steadyMs() + everyMs
    return (found = checkedAddresses(url, rule, resolve).catch((error: unknown) => {
      untilMs = 0
      throw error
    }))
  }
  /** @throws Error, ProxyFailure */
  return async (asked: string, init: BunFetchRequestInit & { readonly headers: Headers }) => {
    const all = await addresses()
    if (all.length === 0) return proxiedFetch(asked, init)
    if (!init.headers.has("host")) init.headers.set("host", url.host)
    const tls = url.protocol === "https:" ? { tls: { ...init.tls, serverName: name } } : {}
    const target = new URL(asked)
    const end = first + all.length
    for (let at = first; ;) {
      const address = all[at++ % all.length]!
      target.hostname = isIP(address) === 6 ? `[${address}]` : address
      try {
        return await proxiedFetch(target, { ...init, ...tls, proxy: false })
      } catch (error) {
        first = at
        if (at === end || !UNCONNECTED.has(`${(error as { code?: unknown }).code}`)) throw error
      }
    }
  }
}

/** Codes of requests of which nothing was sent. */
const UNCONNECTED = new Set(["ConnectionRefused", "ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH"])

/** Finds the addresses of a name, at least one. @throws Error */
type Resolve = (name: string) => Promise<readonly string[]>

const resolveHost: Resolve = async (name) =>
  (await lookup(name, { all: true, order: "ipv4first" })).map(({ address }) => address)

/**
 * The addresses that a URL's name leads to; none: it is an address, or a proxy resolves it.
 *
 * @throws HooklineError `refused` by the rule, Error for a name that is unknown
 */
export async function checkedAddresses(
  url: URL,
  rule: AddressRule,
  resolve: Resolve = resolveHost,
): Promise<readonly string[]> {
  const name = unbracketed(url.hostname)
  const isResolved = isIP(name) === 0 && rule(name) === undefined && proxyFor(url) === undefined
  const all = isResolved ? await resolve(name) : []
  for (const host of [name, ...all]) {
    const refused = rule(host)
    if (refused !== undefined)
      throw new HooklineError("refused", host === name ? refused : `${name}: ${refused}`)
  }
  return all
}
