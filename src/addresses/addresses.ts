import { isIP } from "node:net"
import ipaddr from "ipaddr.js"

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

/** Reads an address or a network, such as `2001:db8::/32`; IPv4-mapped IPv6 is read as IPv4. Undefined: neither. */
export function parseNetwork(text: string): Network | undefined {
  const whole = asMeant(text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`)
  if (!ipaddr.isValidCIDR(whole) || isIP(text.split("/")[0]!) === 0) return undefined
  const [address, bits] = ipaddr.parseCIDR(whole)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
    ? [address.toIPv4Address(), bits - 96]
    : [address, bits]
}

/** Tests whether an address lies in a network. `010.0.0.1`, `10.1`, `0x7f.1` and other texts are no addresses. */
export function addressTest(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map((network) => parseNetwork(network)!)
  return (text) => {
    if (isIP(text) === 0) return false
    const address = ipaddr.process(asMeant(text))
    return parsed.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  }
}

/** ipaddr.js reads `::192.0.2.7` as `::ffff:192.0.2.7`, which is another address. */
export const asMeant = (text: string): string => text.replace(/^::(?=\d+\.)/, "0::")

export interface Sender {
  /** `unknown` when a trusted proxy names something other than an address. */
  readonly address: string
  /** Trusted proxies that the request passed. */
  readonly proxies: number
}

/**
 * The sender behind proxies: the last address in X-Forwarded-For that is not a trusted proxy itself. Entries before it are
 * the sender's own and prove nothing: with an empty one after them, which a proxy wrote that knew no address, the sender
 * is unknown.
 *
 * @param peer address of the connection
 * @param forwardedFor the header, several joined by commas
 */
export function senderBehind(
  peer: string,
  forwardedFor: string | null,
  trusted: (address: string) => boolean,
): Sender {
  let address = peer
  let proxies = 0
  const named = (forwardedFor ?? "").replace(/^[\s,]+/, "").split(",")
  while (trusted(address)) {
    proxies++
    const entry = named.pop()?.trim()
    if (entry === undefined || (entry === "" && named.length === 0)) break
    address = withoutPort(entry)
    if (isIP(address) === 0 || address.includes("%")) return { address: "unknown", proxies }
  }
  return { address, proxies }
}

/** Some proxies write `192.0.2.7:4711` or `[2001:db8::7]:4711`. */
function withoutPort(entry: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
}

/**
 * What one sender controls: an IPv4 address, or an IPv6 /64, such as 2001:db8:0:1, the least that a subscriber gets.
 * All texts that are no address are one sender.
 */
export function senderKey(address: string): string {
  if (isIP(address) === 4) return address
  if (isIP(address) === 0) return ""
  const parsed = ipaddr.process(asMeant(address))
  return parsed instanceof ipaddr.IPv6
    ? parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(":")
    : parsed.toString()
}
