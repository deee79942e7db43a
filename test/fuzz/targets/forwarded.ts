import assert from "node:assert/strict"
import { BlockList, isIPv4, isIPv6 } from "node:net"
import { addressTest, senderBehind, senderKey } from "../../../src/addresses/addresses.ts"
import { publicUrl } from "../../../src/http/public-url.ts"
import type { Target } from "../target.ts"

const trusts = addressTest(["10.0.0.0/8", "2001:db8::/32"])
const networks = new BlockList()
networks.addSubnet("10.0.0.0", 8, "ipv4")
networks.addSubnet("2001:db8::", 32, "ipv6")

const isAddress = (text: string): boolean => isIPv4(text) || (isIPv6(text) && !text.includes("%"))

/** Node's own lists; of an IPv4-mapped address it has the IPv4 one. */
function isTrusted(address: string): boolean {
  if (isIPv4(address)) return networks.check(address, "ipv4")
  const groups = groupsOf(address)
  if (!groups.slice(0, 6).every((group, at) => group === (at < 5 ? 0 : 0xffff)))
    return networks.check(address, "ipv6")
  const [high, low] = groups.slice(6) as [number, number]
  return networks.check(`${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`, "ipv4")
}

/** The eight groups of an IPv6 address (RFC 4291, 2.2). */
function groupsOf(address: string): number[] {
  const read = (text: string): number[] =>
    text === ""
      ? []
      : text.split(":").flatMap((group) => {
          if (!group.includes(".")) return [Number.parseInt(group, 16)]
          const [a, b, c, d] = group.split(".").map(Number) as [number, number, number, number]
          return [a * 256 + b, c * 256 + d]
        })
  const [before = "", after] = address.split("::")
  const [first, last] = [read(before), after === undefined ? [] : read(after)]
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
}

/** What a request of a peer, and its headers, that came through trusted proxies say; after the standards alone. */
function reference(peer: string, entries: readonly string[]): { address: string; proxies: number } {
  if (!isTrusted(peer)) return { address: peer, proxies: 0 }
  const last = entries.at(-1)
  if (last === undefined || entries.every((entry) => entry === "")) return { address: peer, proxies: 1 }
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(last) ?? []
  const address = bracketed ?? dotted ?? last
  if (!isAddress(address)) return { address: "unknown", proxies: 1 }
  const { address: sender, proxies } = reference(address, entries.slice(0, -1))
  return { address: sender, proxies: proxies + 1 }
}

/** UTF-8 where the bytes are, as most senders mean it (RFC 9110, 5.5 leaves it open), else Latin-1. */
function textOf(value: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, "latin1"))
  } catch {
    return value
  }
}

/** Lines: the peer, X-Forwarded-For, X-Forwarded-Host. */
export const forwarded: Target = {
  name: "forwarded",
  seeds: [
    "10.0.0.1\n192.0.2.1, 10.0.0.2\nhooks.example.com, inner",
    "2001:db8::1\n[2001:db9::7]:4711, 192.0.2.7:80\nhost",
    "::ffff:10.0.0.1\n010.0.0.1, ,1\n,a,",
    "192.0.2.1\n0x7f.1\nevil",
    "::192.0.2.1\n::10.0.0.1, 10.0.0.2\na",
  ],
  words: [
    ", ",
    "10.0.0.1",
    "2001:db8::",
    "::ffff:10.0.0.9",
    "[",
    "]:80",
    ":443",
    "010.",
    "0x",
    "%eth0",
    "unknown",
    "::",
  ],
  check(bytes) {
    const [peer = "", forwardedFor = "", hosts = ""] = Buffer.from(bytes).toString("latin1").split("\n")
    if (!isAddress(peer)) return
    const entries = forwardedFor.split(",").map((entry) => entry.trim())
    const sender = senderBehind(peer, forwardedFor, trusts)
    assert.deepEqual(sender, reference(peer, entries))
    if (isIPv6(sender.address)) {
      const groups = groupsOf(sender.address).map((group) => group.toString(16))
      assert.equal(senderKey(sender.address), senderKey(groups.join(":")))
    }

    const headers = new Headers({ Host: "own" })
    try {
      headers.set("X-Forwarded-Host", hosts)
    } catch {
      return
    }
    const given = (headers.get("X-Forwarded-Host") ?? "").split(",").map((host) => host.trim())
    const chosen = sender.proxies === 0 ? "" : (given.at(-sender.proxies) ?? given[0]!)
    const source = { configured: undefined, isTls: true, proxies: sender.proxies }
    const url = publicUrl(source, { path: "/in", query: "", headers })
    assert.equal(url, `https://${chosen === "" ? "own" : textOf(chosen)}/in`)
  },
}
