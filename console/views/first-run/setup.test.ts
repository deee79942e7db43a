import { describe, expect, test } from "bun:test"
import { isLocal, linesFor, senderAddress, tunnelsTo } from "./setup.ts"

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

const setup = (provider: string, source: string) => ({
  provider,
  title: "",
  docs: null,
  note: null,
  setup: null,
  configuration: `[pipeline:${provider}:WebHookSource]\npath = /${provider}\n${source}
[pipeline:${provider}:Verifier]\nprovider = ${provider}\nsecret = \${SECRET}

[pipeline:${provider}:BrokerSink]\ntopic = ${provider}\n`,
})

test("a provider needs the lines of its Verifier, for the pipeline that exists", () => {
  expect(linesFor("payments", setup("stripe", ""))).toBe(
    "[pipeline:payments:Verifier]\nprovider = stripe\nsecret = ${SECRET}",
  )
})

test("a provider that signs the URL needs the public one, too", () => {
  const public_url = "public_url = https://hooks.example.com\n"
  expect(linesFor("calls", setup("twilio", public_url))).toBe(
    `[pipeline:calls:WebHookSource]\n${public_url}\n[pipeline:calls:Verifier]\nprovider = twilio\nsecret = \${SECRET}`,
  )
})
