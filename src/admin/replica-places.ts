import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import { within } from "../clock/clock.ts"
import { formatEndpoint, parseEndpoint } from "../addresses/endpoint.ts"
import { isThisMachine } from "../outgoing/proxied-fetch.ts"

/*
 * Where the replicas of a service are, by `[admin] replicas`: at `host:port`, or by `dns:name:port` at all addresses of a name.
 */

export const isName = (place: string): boolean => place.startsWith(DNS)
const DNS = "dns:"
const LOOKUP_MS = 1000

/** `host:port` for each address of a place's host; none if it has none, or its name is not resolved in time. */
export async function addressesOf(place: string): Promise<readonly string[]> {
  const { host, port } = parseEndpoint(isName(place) ? place.slice(DNS.length) : place)!
  if (isIP(host) !== 0) return [formatEndpoint({ host, port })]
  const found = lookup(host, { all: true }).catch(() => [])
  return (await within(LOOKUP_MS, found, () => [])).map(({ address }) =>
    formatEndpoint({ host: address, port }),
  )
}

/** How many replicas the places stand for, with this one, which may be among them. @param port of this one's listener */
export async function countReplicas(places: readonly string[], port: number | undefined): Promise<number> {
  const found = await Promise.all(places.map(addressesOf))
  const hosts = found.map((addresses) => addresses.map((it) => parseEndpoint(it)!))
  const isListed = hosts.flat().some((it) => it.port === port && isThisMachine(it.host))
  const counts = hosts.map((of, at) => {
    const v6 = of.filter(({ host }) => isIP(host) === 6).length
    // a replica with addresses of both kinds is one
    return isName(places[at]!) ? Math.max(v6, of.length - v6) : 1
  })
  return counts.reduce((sum, count) => sum + count, isListed ? 0 : 1)
}
