import { describe, expect, test } from "bun:test"
import { isLocal, senderAddress, tunnelsTo } from "./sender-address.ts"

describe("senderAddress", () => {
  test.each([
    ["http://127.0.0.1:8080/payments", "http://127.0.0.1:8080/payments"],
    ["http://0.0.0.0:8080/payments", "http://10.0.0.5:8080/payments"],
    ["http://[::]:8080/payments", "http://10.0.0.5:8080/payments"],
    ["https://192.168.1.2/hooks/*", "https://192.168.1.2/hooks/*"],
  ])("%s is posted to as %s", (url, address) => {
    expect(senderAddress(url, "10.0.0.5")).toBe(address)
  })
})

test.each([
  ["http://127.0.0.1:1/", true],
  ["http://localhost:1/", true],
  ["http://[::1]:1/", true],
  ["http://10.0.0.5:1/", false],
  ["http://127.example.com/", false],
])("%s is reached from its own machine alone: %p", (url, expected) => {
  expect(isLocal(url)).toBe(expected)
})

describe("tunnelsTo", () => {
  const commands = (url: string): string[] => tunnelsTo(url).map(({ command }) => command)

  test("have the port and the path of the pipeline", () => {
    expect(commands("http://127.0.0.1:8080/payments")).toEqual([
      "stripe listen --forward-to 127.0.0.1:8080/payments",
      "cloudflared tunnel --url http://127.0.0.1:8080",
      "ngrok http 8080",
    ])
  })

  test("lead to this machine where it listens on every address", () => {
    expect(commands("http://0.0.0.0:8080/")[0]).toBe("stripe listen --forward-to localhost:8080/")
  })

  test("do not check the certificate of a listener with TLS, which names no localhost", () => {
    expect(commands("https://10.0.0.5/payments")).toEqual([
      "stripe listen --forward-to https://10.0.0.5:443/payments --skip-verify",
      "cloudflared tunnel --url https://10.0.0.5:443 --no-tls-verify",
      "ngrok http https://10.0.0.5:443",
    ])
  })
})
