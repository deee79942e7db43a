import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import { steadyMs } from "../clock/clock.ts"
import { addressTest } from "../senders/addresses.ts"
import { proxyFor, unbracketed } from "./proxied-fetch.ts"

/*
 * Addresses that no record is posted to: those of the link, where clouds have their metadata services, and the metadata
 * addresses that are elsewhere. A name is resolved and its addresses are checked, at most once in CHECKED_MS; through a proxy
 * the proxy resolves it.
 */

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html; Alibaba Cloud, Oracle Cloud, Azure */
const METADATA = ["fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"]
const isRefused = addressTest(["169.254.0.0/16", "fe80::/10", ...METADATA])
const CHECKED_MS = 10_000

/** Why nothing is posted to a host that is an address; undefined: it is none, or one that is allowed. */
export function refusedHost(host: string): string | undefined {
  const name = unbracketed(host)
  return isRefused(name)
    ? `${name} is a link-local or cloud metadata address, to which nothing is posted`
    : undefined
}

/** Checks one URL before each request. @returns why it is not requested now */
export function addressCheck(url: URL): () => Promise<string | undefined> {
  const refused = refusedHost(url.hostname)
  let untilMs = 0
  let found = Promise.resolve(refused)
  return () => {
    if (refused === undefined && steadyMs() >= untilMs) {
      untilMs = steadyMs() + CHECKED_MS
      found = resolved(url)
    }
    return found
  }
}

async function resolved(url: URL): Promise<string | undefined> {
  if (proxyFor(url) !== undefined || isIP(unbracketed(url.hostname)) !== 0) return undefined
  try {
    const all = await lookup(url.hostname, { all: true })
    const refused = all.flatMap(({ address }) => refusedHost(address) ?? [])
    return refused.length === 0 ? undefined : `${url.hostname}: ${refused[0]}`
  } catch {
    // the request says why
    return undefined
  }
}
