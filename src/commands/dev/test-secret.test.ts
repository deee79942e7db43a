import { expect, test } from "bun:test"
import { findFamily, makeSigner, makeVerifier, PROVIDER_NAMES } from "../../verify/presets/providers.ts"
import { secretWarnings } from "../../verify/presets/secret-warnings.ts"
import { sampleRequest } from "../../verify/samples/samples.ts"
import { Verified } from "../../verify/verifier.ts"
import { makeTestSecret, wrongSetting } from "./local-application.ts"

/** What generic kinds need in addition to a secret. */
const MORE: { readonly [provider: string]: object } = { basic: { username: "u", password: ["p"] } }
const URL_SENT_TO = "http://localhost:8080/webhook"

const needSecret = PROVIDER_NAMES.filter((it) =>
  findFamily(it)!.requires.some((keys) => keys.length === 1 && keys[0] === "secret"),
)

test("most providers need a secret alone", () => expect(needSecret.length).toBeGreaterThan(40))

test.each(needSecret)("%s accepts a secret made for it, and what is signed with it", async (provider) => {
  const secret = [makeTestSecret(provider, MORE[provider] ?? {})!]
  const settings = { ...MORE[provider], secret }
  expect(wrongSetting(provider, settings)).toBeUndefined()
  expect(secretWarnings(provider, settings)).toEqual([])
  if (findFamily(provider)!.signer === undefined) return
  const event = { id: crypto.randomUUID(), number: 1, atMs: Date.now() }
  const { headers, body } = sampleRequest(provider, event)
  const request = { method: "POST", url: URL_SENT_TO, headers, body, id: event.id }
  const signed = await makeSigner(provider, settings).sign(request, event.atMs)
  const [, path = "", query = ""] = /^http:\/\/[^/]+([^?]*)\??(.*)$/.exec(signed.url)!
  const seen = { ...signed, method: "POST", path, query }
  expect(await makeVerifier(provider, settings).verify(seen, event.atMs)).toBeInstanceOf(Verified)
})

test.each(["ed25519", "discord", "sendgrid", "basic"])("%s needs something else", (provider) => {
  expect(makeTestSecret(provider, {})).toBeUndefined()
})

test("two secrets differ", () => {
  expect(makeTestSecret("stripe", {})).not.toBe(makeTestSecret("stripe", {}))
})
