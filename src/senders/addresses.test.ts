import { describe, expect, test } from "bun:test"
import { isLoopback } from "../config/sections/endpoint.ts"
import { addressTest, parseNetwork, senderBehind, senderKey } from "./addresses.ts"

test.each([
  ["192.0.2.7", "192.0.2.7", true],
  ["192.0.2.7", "192.0.2.8", false],
  ["10.0.0.0/8", "10.255.0.1", true],
  ["10.0.0.0/8", "11.0.0.1", false],
  ["10.1.2.3/8", "10.200.0.1", true],
  ["0.0.0.0/0", "198.51.100.1", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["2001:db8::/32", "2001:db8:1::1", true],
  ["2001:db8::/32", "2001:db9::1", false],
  ["::1", "::1", true],
  ["10.0.0.0/8", "::ffff:10.0.0.1", true],
  ["::ffff:10.0.0.0/104", "10.0.0.1", true],
  ["::ffff:10.0.0.1", "10.0.0.1", true],
  ["::/0", "10.0.0.1", false],
  ["10.0.0.0/8", "unknown", false],
  ["10.0.0.0/8", "", false],
  ["8.0.0.0/8", "010.0.0.1", false],
  ["10.0.0.0/8", "010.0.0.1", false],
  ["10.0.0.0/8", "10.1", false],
  ["0.0.0.0/0", "1", false],
  ["127.0.0.0/8", "0x7f.1", false],
  ["::/0", "::ffff:010.0.0.1", false],
  ["10.0.0.0/8", "::10.0.0.1", false],
  ["::10.0.0.0/104", "10.0.0.1", false],
  ["::/96", "::10.0.0.1", true],
])("%s has %s: %p", (network, address, inside) => {
  expect(addressTest([network])(address)).toBe(inside)
})

test.each([
  "",
  "10.0.0",
  "10",
  "0x0a000001",
  "010.0.0.1",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/-1",
  "::/129",
  "host",
  "10.0.0.1:80",
])("%p is neither address nor network", (text) => {
  expect(parseNetwork(text)).toBeUndefined()
})

describe("the sender behind proxies", () => {
  const trusted = addressTest(["10.0.0.0/8", "2001:db8::/32"])

  test.each([
    ["a peer that is no proxy counts itself, whatever it says", "198.51.100.1", "192.0.2.1", "198.51.100.1"],
    ["a proxy that says nothing counts itself", "10.0.0.1", null, "10.0.0.1"],
    ["the address that a proxy names", "10.0.0.1", "192.0.2.1", "192.0.2.1"],
    ["what the sender wrote before it proves nothing", "10.0.0.1", "203.0.113.9, 192.0.2.1", "192.0.2.1"],
    ["through several proxies", "10.0.0.1", "203.0.113.9,192.0.2.1, 10.0.0.3", "192.0.2.1"],
    ["proxies alone: the first of them", "10.0.0.1", "10.0.0.4, 10.0.0.3", "10.0.0.4"],
    ["an entry that is no address hides the sender", "10.0.0.1", "192.0.2.1, unknown, 10.0.0.3", "unknown"],
    ["octal", "10.0.0.1", "010.0.0.7", "unknown"],
    ["hexadecimal", "10.0.0.1", "192.0.2.1, 0xa.1, 10.0.0.3", "unknown"],
    ["a number", "10.0.0.1", "167772161", "unknown"],
    ["a short form", "10.0.0.1", "10.1", "unknown"],
    ["octal within IPv6", "10.0.0.1", "::ffff:010.0.0.7", "unknown"],
    ["with a zone", "10.0.0.1", "2001:db8::1%eth0", "unknown"],
    ["a port that is none", "10.0.0.1", "192.0.2.1:x", "unknown"],
    ["octal with a port", "10.0.0.1", "010.0.0.7:80", "unknown"],
    ["half a bracket", "10.0.0.1", "[2001:db9::7", "unknown"],
    ["what no address stands behind", "10.0.0.1", "<script>", "unknown"],
    ["an empty header", "10.0.0.1", "", "10.0.0.1"],
    ["commas alone", "10.0.0.1", ", ,", "10.0.0.1"],
    [
      "a proxy that found none, as the sender's own entry before it shows",
      "10.0.0.1",
      "192.0.2.1,",
      "unknown",
    ],
    ["an empty entry between proxies", "10.0.0.1", "192.0.2.1, , 10.0.0.3", "unknown"],
    ["a proxy whose sender gave no entry", "10.0.0.1", ", 192.0.2.1", "192.0.2.1"],
    ["a proxy before all of them", "10.0.0.1", ", 10.0.0.3", "10.0.0.3"],
    ["with a port", "10.0.0.1", "192.0.2.1:4711", "192.0.2.1"],
    ["IPv6 with brackets and a port", "10.0.0.1", "[2001:db9::7]:4711", "2001:db9::7"],
    ["a proxy that is seen as IPv4-mapped", "::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1"],
  ])("%s", (_name, peer, forwardedFor, sender) => {
    expect(senderBehind(peer, forwardedFor, trusted).address).toBe(sender)
  })
})

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["LocalHost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["192.0.2.7", false],
  ["hooks.example.com", false],
])("whether only this machine reaches %s: %p", (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["2001:DB8:0:0:ffff:ffff:ffff:ffff", "2001:db8:0:0"],
  ["2001:db8:0:1::1", "2001:db8:0:1"],
  ["::192.0.2.1", "0:0:0:0"],
  ["unknown", ""],
])("%s is the sender %j", (address, key) => {
  expect(senderKey(address)).toBe(key)
})

test.each([
  ["198.51.100.1", "192.0.2.1", 0],
  ["10.0.0.1", null, 1],
  ["10.0.0.1", "192.0.2.1", 1],
  ["10.0.0.1", "10.0.0.9, 192.0.2.1, 10.0.0.3, 10.0.0.2", 3],
  ["10.0.0.1", "unknown, 10.0.0.2", 2],
])("from %s by %j it came through %d trusted proxies", (peer, forwardedFor, proxies) => {
  expect(senderBehind(peer, forwardedFor, addressTest(["10.0.0.0/8"])).proxies).toBe(proxies)
})
