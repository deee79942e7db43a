import ipaddr from "ipaddr.js"

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * Reads an address or a network such as `192.0.2.7`, `10.0.0.0/8` or `2001:db8::/32`. An IPv4-mapped IPv6 one
 * (`::ffff:10.0.0.0/104`) is the IPv4 one. Undefined when it is neither.
 */
export function parseNetwork(text: string): Network | undefined {
  const whole = text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`
  if (
    !ipaddr.isValidCIDR(whole) ||
    (!text.includes(":") && !ipaddr.IPv4.isValidFourPartDecimal(text.split("/")[0]!))
  )
    return undefined
  const [address, bits] = ipaddr.parseCIDR(whole)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
    ? [address.toIPv4Address(), bits - 96]
    : [address, bits]
}

/** Tells whether an address lies in one of the networks; texts that are no address lie in none. */
export function addressTest(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map((network) => parseNetwork(network)!)
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    return parsed.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  }
}

/**
 * The sender's address behind proxies: the last one in X-Forwarded-For that is not a trusted proxy itself. What stands
 * before it was written by whoever it is and proves nothing.
 *
 * @param peer address of the connection
 * @param forwardedFor the header, several joined by commas
 */
export function senderAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: (address: string) => boolean,
): string {
  if (forwardedFor === null || !trusted(peer)) return peer
  let sender = peer
  for (const entry of forwardedFor.split(",").toReversed()) {
    const address = withoutPort(entry.trim())
    if (!ipaddr.isValid(address)) break
    sender = address
    if (!trusted(address)) break
  }
  return sender
}

/** Some proxies write `192.0.2.7:4711` or `[2001:db8::7]:4711`. */
function withoutPort(entry: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
}
