import { afterAll, afterEach, beforeEach, expect, setSystemTime, test } from "bun:test"
import { createHash, createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto"
import { jwksFetch } from "../fetch/jwks.ts"
import { makeVerifier } from "../presets/providers.ts"
import type { VerifierSettings } from "./family.ts"
import type { VerificationResult } from "../verifier.ts"
import { newRsaKey } from "../../../test/support/rsa-keys.ts"

const NOW = 1_790_000_000_000
const first = newRsaKey()
const second = generateKeyPairSync("ec", { namedCurve: "P-256" })

let served: Response | (() => Response)
let fetches = 0
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch() {
    fetches++
    return typeof served === "function" ? served() : served
  },
})
afterAll(() => server.stop(true))
const jwks_url = `http://127.0.0.1:${server.port}/jwks.json`
const keySet =
  (...keys: readonly (readonly [string, KeyObject])[]) =>
  () =>
    Response.json({ keys: keys.map(([kid, key]) => ({ ...key.export({ format: "jwk" }), kid })) })

afterEach(() => setSystemTime())
beforeEach(() => {
  fetches = 0
  served = keySet(["k1", first.publicKey])
})

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const make = (header: object, claims: object, key: KeyObject | string): string => {
  const text = `${part(header)}.${part(claims)}`
  const signature =
    typeof key === "string"
      ? createHmac("sha256", key).update(text).digest()
      : sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" })
  return `${text}.${signature.toString("base64url")}`
}
const claims = { iss: "https://i.example", aud: "hookline", exp: NOW / 1000 + 60 }

const judge = async (
  settings: VerifierSettings,
  token: string,
  verifier = makeVerifier("jwt", settings),
): Promise<VerificationResult> =>
  verifier.verify(
    {
      method: "POST",
      url: "",
      path: "/",
      query: "",
      headers: new Headers({ Authorization: `Bearer ${token}` }),
      body: new Uint8Array(),
    },
    NOW,
  )
const reasonOf = async (...args: Parameters<typeof judge>): Promise<string> => {
  const result = await judge(...args)
  return result.kind === "verified" ? "verified" : result.reason
}

test("keys are fetched once for many tokens", async () => {
  const verifier = makeVerifier("jwt", { jwks_url })
  const token = make({ alg: "RS256", kid: "k1" }, claims, first.privateKey)
  for (let i = 0; i < 5; i++) expect(await reasonOf({}, token, verifier)).toBe("verified")
  expect(fetches).toBe(1)
})

test("a new key id causes a fetch, but not each unknown one", async () => {
  const verifier = makeVerifier("jwt", { jwks_url })
  const ofSecond = make({ alg: "ES256", kid: "k2" }, claims, second.privateKey)
  expect(await reasonOf({}, rs256({}), verifier)).toBe("verified")
  served = keySet(["k1", first.publicKey], ["k2", second.publicKey])
  for (let i = 0; i < 5; i++) expect(await reasonOf({}, ofSecond, verifier)).toBe("no_match")
  expect(fetches).toBe(1)
  setSystemTime(Date.now() + 31_000)
  expect(await reasonOf({}, ofSecond, verifier)).toBe("verified")
  expect(fetches).toBe(2)
})

test.each<[string, () => Response]>([
  ["an error", () => new Response("", { status: 500 })],
  ["no JSON", () => new Response("<html>")],
  ["no key set", () => Response.json({ keys: 1 })],
])("a key server that answers with %s is keys_unavailable", async (_name, response) => {
  served = response
  const token = make({ alg: "RS256", kid: "k1" }, claims, first.privateKey)
  expect(await reasonOf({ jwks_url }, token)).toBe("keys_unavailable")
})

test("an unreachable key server is keys_unavailable", async () => {
  const gone = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  const url = `http://127.0.0.1:${gone.port}/`
  await gone.stop(true)
  const token = make({ alg: "RS256", kid: "k1" }, claims, first.privateKey)
  expect(await reasonOf({ jwks_url: url }, token)).toBe("keys_unavailable")
})

test("after a failure keys are fetched again after ever longer pauses", async () => {
  served = () => new Response("", { status: 500 })
  let nowMs = 0
  const fetchKeys = jwksFetch({ fetch: (url, init) => fetch(url, init) }, () => nowMs)
  const fetchedAt: number[] = []
  for (let second = 0; second < 20; second++) {
    nowMs = second * 1000
    const before = fetches
    const failing = fetchKeys(jwks_url, {
      headers: new Headers(),
      method: "GET",
      redirect: "manual",
      signal: new AbortController().signal,
    })
    expect(failing).rejects.toThrow("HTTP 500")
    await failing.catch(() => {})
    if (fetches > before) fetchedAt.push(second)
  }
  expect(fetchedAt).toEqual([0, 1, 3, 7, 15])
  served = keySet(["k1", first.publicKey])
  nowMs = 31_000
  expect(
    (
      await fetchKeys(jwks_url, {
        headers: new Headers(),
        method: "GET",
        redirect: "manual",
        signal: new AbortController().signal,
      })
    ).status,
  ).toBe(200)
})

test("concurrent tokens share a failing fetch", async () => {
  served = () => new Response("", { status: 500 })
  const verifier = makeVerifier("jwt", { jwks_url })
  const token = make({ alg: "RS256", kid: "k1" }, claims, first.privateKey)
  for (let round = 0; round < 3; round++) {
    const reasons = await Promise.all(
      Array.from({ length: 20 }, () => reasonOf({ jwks_url }, token, verifier)),
    )
    expect(new Set(reasons)).toEqual(new Set(["keys_unavailable"]))
  }
  expect(fetches).toBe(1)
})

test.each([
  ["more bytes than 1 MiB", () => new Response(`{"keys":[]}${" ".repeat(1024 * 1024)}`)],
  [
    "bytes without an end",
    () => {
      let sent = 0
      return new Response(
        new ReadableStream({
          pull(controller) {
            // far beyond what may be read; a reader that does not stop sees this end
            if ((sent += 65_536) > 16 * 1024 * 1024) controller.close()
            else controller.enqueue(Buffer.alloc(65_536, 0x20))
          },
        }),
      )
    },
  ],
])("a JWKS of %s is not read to its end", async (_name, answer) => {
  served = answer
  const token = make({ alg: "RS256", kid: "k1" }, claims, first.privateKey)
  expect(await judge({ jwks_url }, token)).toMatchObject({
    reason: "keys_unavailable",
    detail: "fetching the keys failed: the response is larger than 1048576 bytes",
  })
})

test.each([
  ["as far ahead as the tolerance allows", 300, "verified"],
  ["further ahead", 301, "future"],
  ["as old as the tolerance allows", -300, "verified"],
  ["older", -301, "stale"],
])("Plaid: a token that was issued %s", async (_name, seconds, expected) => {
  const jwk = JSON.stringify(second.publicKey.export({ format: "jwk" }))
  const request_body_sha256 = createHash("sha256").update("{}").digest("hex")
  const claims = { iat: NOW / 1000 + seconds, request_body_sha256 }
  const headers = new Headers({ "Plaid-Verification": make({ alg: "ES256" }, claims, second.privateKey) })
  const request = { method: "POST", url: "", path: "/", query: "", headers, body: Buffer.from("{}") }
  const result = await makeVerifier("plaid", { public_key: [jwk] }).verify(request, NOW)
  expect(result.kind === "verified" ? "verified" : result.reason).toBe(expected)
})

const pem = first.publicKey.export({ format: "pem", type: "spki" }).toString()
const rs256 = (more: object): string =>
  make({ alg: "RS256", kid: "k1" }, { ...claims, ...more }, first.privateKey)

test.each([
  ["the token expired 412 s ago", rs256({ exp: NOW / 1000 - 412 })],
  ["the token is not valid for another 412 s", rs256({ nbf: NOW / 1000 + 412 })],
])("the detail has how far its time is off: %s", async (detail, token) => {
  expect(await judge({ jwks_url }, token)).toMatchObject({ detail })
})

test.each([
  ["timestamp 412 s old", NOW / 1000 - 412],
  ["timestamp 412 s ahead", NOW / 1000 + 412],
])("the detail has how far iat is off: %s", async (detail, iat) => {
  const jwk = JSON.stringify(second.publicKey.export({ format: "jwk" }))
  const token = make({ alg: "ES256" }, { iat, request_body_sha256: "" }, second.privateKey)
  const result = await makeVerifier("plaid", { public_key: [jwk] }).verify(
    {
      method: "POST",
      url: "",
      path: "/",
      query: "",
      headers: new Headers({ "Plaid-Verification": token }),
      body: new Uint8Array(),
    },
    NOW,
  )
  expect(result).toMatchObject({ kind: "refused", detail })
})

test.each<[string, VerifierSettings, string, string]>([
  ["expired within the leeway", { jwks_url }, rs256({ exp: NOW / 1000 - 59 }), "verified"],
  ["expired", { jwks_url }, rs256({ exp: NOW / 1000 - 61 }), "stale"],
  ["expired, without leeway", { jwks_url, tolerance: 0 }, rs256({ exp: NOW / 1000 - 1 }), "stale"],
  ["that never expires", { jwks_url }, rs256({ exp: undefined }), "wrong_claim"],
  [
    "that never expires, where that may be",
    { jwks_url, require_exp: "false" },
    rs256({ exp: undefined }),
    "verified",
  ],
  ["not valid yet", { jwks_url }, rs256({ nbf: NOW / 1000 + 61 }), "future"],
  ["of another issuer", { jwks_url, issuer: "https://other.example" }, rs256({}), "wrong_claim"],
  ["for another audience", { jwks_url, audience: "other" }, rs256({}), "wrong_claim"],
  ["without the audience", { jwks_url, audience: "hookline" }, rs256({ aud: undefined }), "wrong_claim"],
  [
    "of an account that is not verified",
    { jwks_url, email: "a@b.example" },
    rs256({ email: "a@b.example" }),
    "wrong_claim",
  ],
  [
    "signed with the public key's text as a secret",
    { public_key: [pem] },
    make({ alg: "HS256" }, claims, pem),
    "malformed",
  ],
  ["not signed", { public_key: [pem] }, `${part({ alg: "none" })}.${part(claims)}.AA`, "malformed"],
  [
    "of another kind of key",
    { public_key: [pem] },
    make({ alg: "ES256" }, claims, second.privateKey),
    "no_match",
  ],
  ["signed by HMAC", { secret: ["s1", "s2"] }, make({ alg: "HS256" }, claims, "s2"), "verified"],
  [
    "signed by HMAC with another secret",
    { secret: ["s1"] },
    make({ alg: "HS256" }, claims, "s2"),
    "no_match",
  ],
])("a token %s", async (_name, settings, token, expected) => {
  expect(await reasonOf(settings, token)).toBe(expected)
})

const short = newRsaKey(1024)

test("a token by an RSA key of fewer than 2048 bits in the JWKS is refused", async () => {
  served = keySet(["k1", short.publicKey])
  expect(
    await judge({ jwks_url }, make({ alg: "RS256", kid: "k1" }, claims, short.privateKey)),
  ).toMatchObject({
    reason: "no_match",
    detail: "the JWKS has an RSA key of 1024 bits; at least 2048 are required",
  })
})
