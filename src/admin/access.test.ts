import { expect, test } from "bun:test"
import { hostTest } from "./access.ts"

const admits = hostTest(["Hookline.internal"])
const asks = (host: string): boolean => admits(new Request("http://x/", { headers: { Host: host } }))

test.each([
  "localhost",
  "LOCALHOST:9464",
  "localhost.:9464",
  "a.localhost",
  "127.0.0.1:9464",
  "127.8.9.1",
  "10.1.2.3:9464",
  "[::1]:9464",
  "[fd00::7]",
  "hookline.internal",
  "Hookline.Internal.:9464",
])("%s is accepted", (host) => {
  expect(asks(host)).toBe(true)
})

test.each([
  "attacker.example",
  "attacker.example:9464",
  "localhost.attacker.example",
  "notlocalhost",
  "127.0.0.1.attacker.example",
  "127.0.0.1@attacker.example",
  "x.hookline.internal",
  "127.1",
  "0x7f000001",
  "2130706433",
  "[attacker.example]",
  "::1",
  "localhost:65536",
  "attacker.example/.localhost",
  "127.0.0.1:123456789",
  "",
])("%p is refused", (host) => {
  expect(asks(host)).toBe(false)
})

test("a request without a Host is accepted", () => {
  expect(admits(new Request("http://x/"))).toBe(true)
})
