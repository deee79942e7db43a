import { createPublicKey } from "node:crypto"
import { SignJWT, type JWTPayload, type JWTVerifyOptions } from "jose"
import { sameText } from "./constant-time.ts"
import {
  listOf,
  textOf,
  type Family,
  type Outside,
  type SettingKey,
  type VerifierSettings,
} from "./family.ts"
import { checkFreshness } from "./freshness.ts"
import { checkToken, remoteKeys, type VerifyingKey } from "./jwt-keys.ts"
import { importPrivateKey, importPublicKey } from "./public-key.ts"
import { NOTHING_READ } from "./signature.ts"
import { Refused, Verified, type SignedRequest, type Verdict } from "./verifier.ts"

/** A scheme of JSON Web Tokens (RFC 7519) as data. */
export interface JwtForm {
  /** Where the token stands; undefined: as a bearer token (RFC 6750). */
  readonly header?: string
  /** What `iss` must be, unless set. */
  readonly issuer?: string | readonly string[]
  /** Where the keys are, unless set. */
  readonly jwksUrl?: string
  readonly algorithms: readonly string[]
  /** The claim that holds the body's SHA-256. */
  readonly bodyHash?: { readonly claim: string; readonly encoding: "hex" | "base64" }
  /** Whether the tolerance is the age that the token may have by `iat`, and not only leeway for `exp` and `nbf`. */
  readonly limitsAge?: boolean
  /** Whether `exp` must be there unless `require_exp` is false: else a captured token is good for ever. */
  readonly requiresExp?: boolean
  /** Milliseconds; undefined: the tokens carry no time. */
  readonly toleranceMs?: number
  readonly requires: readonly (readonly SettingKey[])[]
  readonly optional?: readonly SettingKey[]
}

export const SYMMETRIC = ["HS256", "HS384", "HS512"]
export const ASYMMETRIC = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
]

/** The family of a form of tokens. */
export function jwt(form: JwtForm): Family {
  return {
    family: "jwt",
    requires: form.requires,
    optional: [...(form.toleranceMs === undefined ? [] : (["tolerance"] as const)), ...(form.optional ?? [])],
    secretForm: form.requires.some((keys) => keys.includes("secret"))
      ? "the shared secret, as text"
      : undefined,
    toleranceMs: form.toleranceMs,
    signsUrl: false,
    keyBytes: ({ secret }) => (secret === undefined ? undefined : (text) => Buffer.byteLength(text)),
    covers: (settings) => ({
      body: form.bodyHash === undefined ? "none" : "whole",
      time: form.toleranceMs !== undefined && (form.requiresExp !== true || needsExp(settings)),
      id: false,
    }),
    verifier(settings, outside) {
      const keys = keysOf(form, settings, outside)
      const toleranceMs = settings.tolerance ?? form.toleranceMs ?? 0
      const requiresExp = form.requiresExp === true && needsExp(settings)
      const judge = async (token: string | Refused, body: Uint8Array, nowMs: number): Promise<Verdict> => {
        if (token instanceof Refused) return token
        const options = {
          ...optionsOf(form, settings, toleranceMs, nowMs),
          requiredClaims: [...(requiresExp ? ["exp"] : []), ...(form.limitsAge === true ? ["iat"] : [])],
        }
        let refused = new Refused("no_match", "no key matches")
        for (const key of keys) {
          const payload = await checkToken(token, key, options)
          if (!(payload instanceof Refused))
            return judgeAge(payload, form, toleranceMs, nowMs) ?? judgeClaims(payload, form, settings, body)
          if (payload.reason !== "no_match") return payload
          refused = payload
        }
        return refused
      }
      return {
        needs: form.bodyHash === undefined ? "headers" : "body",
        signsUrl: false,
        toleranceMs,
        verify: (request, nowMs) => judge(readToken(form, request), request.body, nowMs),
        async explain(request, nowMs) {
          const token = readToken(form, request)
          const verdict = await judge(token, request.body, nowMs)
          if (token instanceof Refused) return { ...NOTHING_READ, verdict, toleranceMs }
          const signed = Buffer.from(token.slice(0, token.lastIndexOf(".")))
          return { ...NOTHING_READ, verdict, signed, received: [token], toleranceMs }
        },
      }
    },
    signer: (settings) => ({
      async sign({ method, url, headers: given, body }, nowMs) {
        const headers = new Headers(given)
        const token = await makeToken(form, settings, body, nowMs)
        headers.set(form.header ?? "Authorization", form.header === undefined ? `Bearer ${token}` : token)
        return { method, url, headers, body }
      },
    }),
  }
}

const needsExp = ({ require_exp: required }: VerifierSettings): boolean => required !== "false"

function keysOf(form: JwtForm, settings: VerifierSettings, outside: Outside): readonly VerifyingKey[] {
  if (settings.secret !== undefined) return listOf(settings, "secret").map((it) => ({ one: Buffer.from(it) }))
  if (settings.public_key !== undefined) {
    const texts = listOf(settings, "public_key")
    return texts.map((it) => ({ one: importPublicKey(it, ["rsa", "rsa-pss", "ec", "ed25519"]) }))
  }
  const text = settings.jwks_url ?? form.jwksUrl ?? textOf(settings, "jwks_url")
  return [remoteKeys(text, outside)]
}

function optionsOf(
  form: JwtForm,
  settings: VerifierSettings,
  toleranceMs: number,
  nowMs: number,
): JWTVerifyOptions {
  const issuer = settings.issuer ?? form.issuer
  const { audience } = settings
  return {
    algorithms: form.algorithms.filter((it) => SYMMETRIC.includes(it) === (settings.secret !== undefined)),
    currentDate: new Date(nowMs),
    ...(issuer === undefined ? {} : { issuer: typeof issuer === "string" ? issuer : [...issuer] }),
    ...(audience === undefined ? {} : { audience }),
    clockTolerance: toleranceMs / 1000,
  }
}

function readToken(form: JwtForm, { headers }: SignedRequest): string | Refused {
  const header = form.header ?? "Authorization"
  const value = headers.get(header)
  if (value === null || value === "") return new Refused("missing_header", `no ${header}`)
  const token = form.header === undefined ? /^Bearer +(\S+)$/i.exec(value)?.[1] : value
  return token !== undefined && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)
    ? token
    : new Refused(
        "malformed",
        `${header} is not a ${form.header === undefined ? "bearer token that is a " : ""}JWT`,
      )
}

/** Clocks go wrong either way: jose's own check of the age takes no token that is a second ahead. */
function judgeAge(
  { iat }: JWTPayload,
  form: JwtForm,
  toleranceMs: number,
  nowMs: number,
): Refused | undefined {
  if (form.limitsAge !== true) return undefined
  if (typeof iat !== "number") return new Refused("malformed", "iat is not a number")
  return checkFreshness(iat * 1000, nowMs, toleranceMs)
}

function judgeClaims(
  payload: JWTPayload,
  form: JwtForm,
  settings: VerifierSettings,
  body: Uint8Array,
): Verdict {
  if (
    settings.email !== undefined &&
    (payload["email"] !== settings.email || payload["email_verified"] !== true)
  )
    return new Refused("wrong_claim", "the token is not of the service account in email")
  if (form.bodyHash !== undefined) {
    const { claim, encoding } = form.bodyHash
    const hash = payload[claim]
    if (typeof hash !== "string") return new Refused("malformed", `the token has no ${claim}`)
    if (!sameText(hash, sha256(body, encoding)))
      return new Refused("no_match", "the token is of another body")
  }
  return new Verified(payload.iat === undefined ? undefined : payload.iat * 1000)
}

const sha256 = (bytes: Uint8Array, encoding: "hex" | "base64"): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest(encoding)

async function makeToken(
  form: JwtForm,
  settings: VerifierSettings,
  body: Uint8Array,
  nowMs: number,
): Promise<string> {
  const secret = listOf(settings, "secret")[0]!
  const issued = Math.floor(nowMs / 1000)
  const issuer = settings.issuer ?? [form.issuer ?? []].flat()[0]
  const token = new SignJWT({
    iat: issued,
    exp: issued + 300,
    ...(issuer === undefined ? {} : { iss: issuer }),
    ...(settings.audience === undefined ? {} : { aud: settings.audience }),
    ...(settings.email === undefined ? {} : { email: settings.email, email_verified: true }),
    ...(form.bodyHash === undefined ? {} : { [form.bodyHash.claim]: sha256(body, form.bodyHash.encoding) }),
  })
  if (!secret.includes("PRIVATE KEY"))
    return token.setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(secret))
  const key = importPrivateKey(secret)
  const { crv } = createPublicKey(key).export({ format: "jwk" })
  const alg = { "P-256": "ES256", "P-384": "ES384", "P-521": "ES512", Ed25519: "EdDSA" }[crv ?? ""] ?? "RS256"
  return token.setProtectedHeader({ alg }).sign(key)
}
