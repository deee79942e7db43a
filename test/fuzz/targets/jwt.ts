import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { makeVerifier } from "../../../src/verify/presets/providers.ts"
import { NOW, OUTSIDE } from "../../support/senders.ts"
import type { Target } from "../target.ts"

const SECRET = "obviously-fake-secret-of-32-bytes!"
const verifier = makeVerifier("jwt", { secret: [SECRET], issuer: "me" }, OUTSIDE)
const HASHES: { readonly [alg: string]: string } = { HS256: "sha256", HS384: "sha384", HS512: "sha512" }

const encode = (text: string | Uint8Array): string => Buffer.from(text as string).toString("base64url")
const mac = (hash: string, text: string): Buffer => createHmac(hash, SECRET).update(text).digest()

const HEADER = '{"alg":"HS256","typ":"JWT"}'
const seconds = Math.floor(NOW / 1000)
const PAYLOAD = `{"iss":"me","exp":${seconds + 60},"nbf":${seconds - 60},"iat":${seconds}}`

/** Says why a token must not be verified, after RFC 7515 and 7519; undefined: it may be. */
function whyNot(token: string): string | undefined {
  const [header = "", payload = "", signature = "", ...more] = token.split(".")
  if (more.length > 0) return "it has more than three parts"
  let fields: { [name: string]: unknown }
  let claims: { [name: string]: unknown }
  try {
    ;[fields, claims] = [header, payload].map((part) => {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(part, "base64url"))
      return JSON.parse(text) as { [name: string]: unknown }
    }) as [typeof fields, typeof claims]
  } catch {
    return "it is no JSON"
  }
  const hash = Object.hasOwn(HASHES, String(fields["alg"])) ? HASHES[String(fields["alg"])] : undefined
  if (hash === undefined) return `its algorithm is ${String(fields["alg"])}`
  if (fields["crit"] !== undefined) return "it has extensions that are critical"
  if (!mac(hash, `${header}.${payload}`).equals(Buffer.from(signature, "base64url")))
    return "its signature is wrong"
  if (claims["iss"] !== "me") return "it is of another issuer"
  if (claims["exp"] !== undefined && !(Number(claims["exp"]) > seconds - 300)) return "it is over"
  if (claims["nbf"] !== undefined && !(Number(claims["nbf"]) <= seconds + 301)) return "it is not yet"
  return undefined
}

/** First byte: whether what follows is a token, or a header and a payload, on lines, that are signed. */
export const jwt: Target = {
  name: "jwt",
  seeds: [
    `\u0001${HEADER}\n${PAYLOAD}`,
    `\u0001{"alg":"none"}\n${PAYLOAD}`,
    `\u0001{"alg":"HS512","kid":"a","crit":["b64"],"b64":false}\n${PAYLOAD}`,
    `\u0000${encode(HEADER)}.${encode(PAYLOAD)}.${mac("sha256", `${encode(HEADER)}.${encode(PAYLOAD)}`).toString("base64url")}`,
    "\u0000e30.e30.",
  ],
  words: [
    '"alg":',
    '"HS256"',
    '"none"',
    '"crit":',
    '"b64":false',
    '"exp":',
    '"nbf":',
    '"iss":"me"',
    ".",
    "e30",
    "null",
    String(seconds),
  ],
  async check(bytes) {
    const text = Buffer.from(bytes.subarray(1)).toString("latin1")
    const [header = "", payload = ""] = text.split("\n")
    const [, alg = ""] = /"alg":"(HS\d+)"/.exec(header) ?? []
    const start = `${encode(Buffer.from(header, "latin1"))}.${encode(Buffer.from(payload, "latin1"))}`
    const signed = (): string => `${start}.${mac(HASHES[alg] ?? "sha256", start).toString("base64url")}`
    const token = bytes[0] === 1 ? signed() : text.replaceAll(/[^!-~]/g, "")
    const headers = new Headers({ Authorization: `Bearer ${token}` })
    const request = { method: "POST", url: "", path: "/in", query: "", headers, body: new Uint8Array() }
    const result = await verifier.verify(request, NOW)
    if (result.kind === "verified") assert.equal(whyNot(token), undefined)
  },
}
