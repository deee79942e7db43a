import { expect, test } from "bun:test"
import { HooklineError } from "../errors.ts"
import { WrongSetting, type VerifierSettings } from "./schemes/family.ts"
import { makeSigner, makeVerifier } from "./presets/providers.ts"
import { splitKeys, splitSecrets } from "./settings.ts"
import { newRsaKey } from "../../test/support/rsa-keys.ts"

const SECRET = "Zm9v-not-to-be-shown"

const short = newRsaKey(1024).publicKey
const SHORT_PEM = short.export({ format: "pem", type: "spki" }).toString()
const SHORT_JWK = JSON.stringify(short.export({ format: "jwk" }))
const SHORT_DER = short.export({ format: "der", type: "spki" }).toString("base64")
const SHORT = "is an RSA key of 1024 bits; at least 2048 are required"

const problem = (make: () => unknown): WrongSetting => {
  try {
    make()
  } catch (error) {
    if (error instanceof WrongSetting) return error
  }
  throw new Error("no problem found")
}

test.each<[string, VerifierSettings, string, string]>([
  ["stripe", {}, "secret", "is missing; stripe requires secret"],
  ["stripe", { secret: [] }, "secret", "is missing"],
  ["stripe", { secret: ["a", ""] }, "secret", "is empty"],
  ["stripe", { secret: Array.from({ length: 17 }, String) }, "secret", "more than 16"],
  ["stripe", { secret: ["a"], tolerance: Number.NaN }, "tolerance", "not a duration"],
  ["stripe", { secret: ["a"], tolerance: -1 }, "tolerance", "not a duration"],
  ["hmac", { secret: ["a"], header: "X Sig" }, "header", '"X Sig" is not a header\'s name'],
  ["token", { secret: ["a"], header: "X-Token:" }, "header", "without spaces or a colon"],
  [
    "hmac",
    { secret: ["a"], header: "X", id_header: "X Id", payload: "{id}{body}" },
    "id_header",
    "is not a header's name",
  ],
  ["grafana", { secret: ["a"], timestamp_header: "Ü" }, "timestamp_header", "is not a header's name"],
  ["svix", { secret: [SECRET] }, "secret", "whsec_ and base64"],
  ["svix", { secret: [`whsec_${SECRET}`] }, "secret", "whsec_ and base64"],
  ["svix", { public_key: ["whpk_AAAA"] }, "public_key", "whpk_ and base64 of 32 bytes"],
  ["adyen", { secret: [SECRET] }, "secret", "hexadecimal"],
  ["adyen", { secret: ["ABC"] }, "secret", "hexadecimal"],
  ["discord", { secret: ["a"] }, "public_key", "discord requires public_key"],
  ["discord", { public_key: [SECRET] }, "public_key", "32 bytes in hex"],
  ["wise", { public_key: [SHORT_PEM] }, "public_key", SHORT],
  ["jwt", { public_key: [SHORT_PEM], audience: "a", issuer: "i" }, "public_key", SHORT],
  ["jwt", { public_key: [SHORT_JWK], audience: "a", issuer: "i" }, "public_key", SHORT],
  ["jwt", { public_key: [SHORT_DER], audience: "a", issuer: "i" }, "public_key", SHORT],
  ["sendgrid", { public_key: ["00".repeat(32)] }, "public_key", "(ec)"],
  ["alertmanager", { username: "u" }, "password", "secret, or username and password"],
  ["chargebee", { username: "a:b", password: ["p"] }, "username", "colon"],
  ["gcp-pubsub", { audience: "a" }, "email", "audience and email"],
  ["aws-sns", {}, "topic_arn", "topic_arn"],
  ["aws-sns", { topic_arn: "orders" }, "topic_arn", "arn:aws:sns:eu-west-1:123456789012:orders"],
  ["hmac", { secret: ["a"] }, "header", "hmac requires secret and header"],
  [
    "hmac",
    { secret: ["a"], header: "X", payload: "{timestamp}.{body}" },
    "timestamp_header",
    "belong together",
  ],
  ["hmac", { secret: ["a"], header: "X", timestamp_header: "T" }, "timestamp_header", "proves nothing"],
  ["hmac", { secret: ["a"], header: "X", id_header: "I" }, "id_header", "proves nothing"],
  [
    "hmac",
    { secret: ["a"], header: "X", payload: "{nonce}{body}" },
    "payload",
    "unknown placeholder {nonce}",
  ],
  ["hmac", { secret: ["a"], header: "X", payload: "{url}" }, "payload", "no {body}"],
  ["jwt", { jwks_url: "keys.json" }, "jwks_url", "not an https:// or http:// URL"],
  ["okta", { secret: ["a"], header: "H", query: "q" }, "query", "conflicts with header"],
  ["strpe", {}, "provider", "did you mean stripe?"],
  ["constructor", {}, "provider", "unknown provider"],
])("%s with %j: %s is wrong", (name, settings, key, text) => {
  const wrong = problem(() => makeVerifier(name, settings))
  expect(wrong).toBeInstanceOf(HooklineError)
  expect(wrong.code).toBe("config")
  expect(wrong.key as string).toBe(key)
  expect(wrong.message).toContain(text)
  expect(wrong.message).not.toContain(SECRET)
})

test("a secret of Standard Webhooks may have its version before it, as Supabase shows it", () => {
  const secret = "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  expect(splitSecrets(`${secret}, whsec_AAAA`)).toEqual([secret, "whsec_AAAA"])
  expect(makeVerifier("standard-webhooks", { secret: [secret] }).needs).toBe("body")
})

test("a secret of Standard Webhooks may come without whsec_", () => {
  expect(() => makeVerifier("svix", { secret: ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] })).not.toThrow()
})

test("signing requires the private key", () => {
  expect(problem(() => makeSigner("aws-sns", { topic_arn: "arn" })).message).toContain(
    "only the provider has the key",
  )
  expect(problem(() => makeSigner("discord", { secret: ["a"] })).message).toContain("PEM private key")
})

test.each([
  ["one", ["one"]],
  ["a, b,c\n d \n\n e,", ["a", "b", "c", "d", "e"]],
  ['"a,b", c', ["a,b", "c"]],
  ['" a "', [" a "]],
  ['a"b, c"', ['a"b', 'c"']],
  ['"a"b', ['"a"b']],
  ["Basic dXNlcjpwYXNz", ["Basic dXNlcjpwYXNz"]],
  [" , ", []],
])("the secrets of %j", (text, secrets) => {
  expect(splitSecrets(text)).toEqual(secrets)
})

const PEM = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----"
const JWK = '{"kty":"EC","crv":"P-256","x":"a","y":"b"}'
test.each([
  [PEM, [PEM]],
  [`${PEM}\n${PEM},${JWK}\n${JWK}, abcd`, [PEM, PEM, JWK, JWK, "abcd"]],
  ["00ff, 11ee\n22dd", ["00ff", "11ee", "22dd"]],
])("the keys of %j", (text, keys) => {
  expect(splitKeys(text)).toEqual(keys)
})

test.each<[text: string, fileCommas: readonly number[], secrets: readonly string[]]>([
  ["a,b", [1], ["a,b"]],
  ["a,b\nc", [1], ["a,b", "c"]],
  ["a,b, c,d", [1, 6], ["a,b", "c,d"]],
  ["v1,whsec_a", [2], ["v1,whsec_a"]],
  ['"a,b"', [2], ["a,b"]],
])("the secrets of %j with commas from files at %j", (text, fileCommas, secrets) => {
  expect(splitSecrets(text, fileCommas)).toEqual(secrets)
})
