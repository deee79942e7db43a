import { expect, test } from "bun:test"
import { linesFor } from "./setup-lines.ts"

const setup = (provider: string, source: string) => ({
  provider,
  title: "",
  docs: null,
  note: null,
  configuration: `[pipeline:${provider}:WebHookSource]\npath = /${provider}\n${source}
[pipeline:${provider}:Verifier]\nprovider = ${provider}\nsecret = \${SECRET}

[pipeline:${provider}:BrokerSink]\ntopic = ${provider}\n`,
})

test("a provider takes the lines of its Verifier, for the pipeline that there is", () => {
  expect(linesFor("payments", setup("stripe", ""))).toBe(
    "[pipeline:payments:Verifier]\nprovider = stripe\nsecret = ${SECRET}",
  )
})

test("one that signs the URL needs the public one, too", () => {
  const public_url = "public_url = https://hooks.example.com\n"
  expect(linesFor("calls", setup("twilio", public_url))).toBe(
    `[pipeline:calls:WebHookSource]\n${public_url}\n[pipeline:calls:Verifier]\nprovider = twilio\nsecret = \${SECRET}`,
  )
})
