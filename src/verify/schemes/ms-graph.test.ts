import { afterAll, expect, test } from "bun:test"
import { sign, type KeyObject } from "node:crypto"
import { makeVerifier } from "../presets/providers.ts"
import type { VerifierSettings } from "./family.ts"
import { newRsaKey } from "../../../test/support/rsa-keys.ts"

const NOW = 1_790_000_000_000
const APP = "8e460676-ae3f-4b1e-8790-ee0fb5d6148f"
const TENANT = "84bd8158-6d4d-4958-8b9f-9d6445542f95"
const PUBLISHER = "0bf30f3b-4a52-48df-9a82-234910c4a086"
const microsoft = newRsaKey()
const stranger = newRsaKey()

let fetches = 0
const keys = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch() {
    fetches++
    return Response.json({
      keys: [{ ...microsoft.publicKey.export({ format: "jwk" }), kid: "k", alg: "RS256" }],
    })
  },
})
afterAll(() => keys.stop(true))

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const token = (claims: object = {}, key: KeyObject = microsoft.privateKey): string => {
  const all = {
    aud: APP,
    iss: `https://login.microsoftonline.com/${TENANT}/v2.0`,
    tid: TENANT,
    azp: PUBLISHER,
    exp: NOW / 1000 + 3600,
    ...claims,
  }
  const text = `${part({ alg: "RS256", kid: "k" })}.${part(all)}`
  return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`
}
const rich = { clientState: "the state of the subscription", encryptedContent: { data: "…" } }

async function outcome(body: object, settings: VerifierSettings = { audience: APP }): Promise<string> {
  const verifier = makeVerifier("ms-graph", {
    secret: ["the state of the subscription"],
    jwks_url: `http://127.0.0.1:${keys.port}/`,
    ...settings,
  })
  const request = { method: "POST", path: "/", query: "", url: "", headers: new Headers() }
  const result = await verifier.verify({ ...request, body: Buffer.from(JSON.stringify(body)) }, NOW)
  return result.kind === "verified" ? "verified" : result.reason
}

test.each<[string, readonly unknown[], string]>([
  ["of version 2", [token()], "verified"],
  [
    "of version 1",
    [token({ azp: undefined, appid: PUBLISHER, iss: `https://sts.windows.net/${TENANT}/` })],
    "verified",
  ],
  ["of several tenants", [token(), token({ tid: "b", iss: "https://sts.windows.net/b/" })], "verified"],
  ["of which one is another application's", [token(), token({ aud: "another" })], "wrong_claim"],
  ["of another publisher", [token({ azp: "another" })], "wrong_claim"],
  ["of no publisher", [token({ azp: undefined })], "wrong_claim"],
  ["of another issuer", [token({ iss: "https://evil.example/" })], "wrong_claim"],
  ["of the issuer of another tenant", [token({ tid: "b" })], "wrong_claim"],
  ["that expired", [token({ exp: NOW / 1000 - 301 })], "stale"],
  ["without exp", [token({ exp: undefined })], "wrong_claim"],
  ["signed by a stranger", [token({}, stranger.privateKey)], "no_match"],
  ["that are none", ["x"], "malformed"],
  ["that are no text", [1], "malformed"],
])("tokens %s", async (_name, validationTokens, expected) => {
  expect(await outcome({ value: [rich], validationTokens })).toBe(expected)
})

test.each<[string, object, VerifierSettings, string]>([
  ["resource data without tokens", { value: [rich] }, { audience: APP }, "missing_header"],
  ["an empty list of tokens", { value: [rich], validationTokens: [] }, { audience: APP }, "missing_header"],
  [
    "no resource data, and no tokens",
    { value: [{ clientState: rich.clientState }] },
    { audience: APP },
    "verified",
  ],
  ["no audience to compare", { value: [rich], validationTokens: [token({ aud: "any" })] }, {}, "verified"],
  [
    "no audience, and a stranger's token",
    { value: [rich], validationTokens: [token({}, stranger.privateKey)] },
    {},
    "no_match",
  ],
  [
    "another issuer that is set",
    { value: [rich], validationTokens: [token()] },
    { issuer: "https://i.example" },
    "wrong_claim",
  ],
])("with %s", async (_name, body, settings, expected) => {
  expect(await outcome(body, settings)).toBe(expected)
})

test("keys are fetched only with the right clientState", async () => {
  const before = fetches
  const body = { value: [{ ...rich, clientState: "a guess" }], validationTokens: [token()] }
  expect(await outcome(body)).toBe("no_match")
  expect(fetches).toBe(before)
})
