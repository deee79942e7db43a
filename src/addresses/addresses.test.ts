import { expect, test } from "bun:test"
import { isLoopback } from "./endpoint.ts"
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
