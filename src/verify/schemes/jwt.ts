import { Buffer } from "node:buffer"
import { createPublicKey } from "node:crypto"
import type { JWTPayload, JWTVerifyOptions } from "jose"
import { sameText, sha256 } from "../crypto.ts"
import { credentialVerifier } from "./credential.ts"
import { listOf, textOf, type Family, type VerifierSettings } from "./family.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { checkFreshness } from "./freshness.ts"
import { SYMMETRIC, type JwtForm } from "./jwt-form.ts"
import { checkToken, remoteKeys, type VerifyingKey } from "./jwt-keys.ts"
import { importPrivateKey, importPublicKey } from "./public-key.ts"
import { withHeaders } from "./sendable.ts"
import { Refused, Verified, type SignedRequest, type VerificationResult } from "../verifier.ts"

export function jwt(form: JwtForm): Family {
  return {
    family: "jwt",
    requires: form.requires,
    optional: form.optional,
    secretForm: form.requires.some((keys) => keys.includes("secret"))
      ? "the shared secret, as text"
      : undefined,
    toleranceMs: form.toleranceMs,
    keyBytes: ({ secret }) => (secret === undefined ? undefined : (text) => Buffer.byteLength(text)),
    covers: (settings) => ({
      body: form.bodyHash === undefined ? "none" : "whole",
      time: form.toleranceMs !== undefined && (form.requiresExp !== true || needsExp(settings)),
      id: false,
      ...(form.bodyHash === undefined
        ? { credential: { header: headerOf(form).toLowerCase() } }
        : { signature: [headerOf(form).toLowerCase()] }),
    }),
    verifier(settings, fetcher) {
      const keys = keysOf(form, settings, fetcher)
      const toleranceMs = settings.tolerance ?? form.toleranceMs ?? 0
      const issuer = settings.issuer ?? form.issuer
      const { audience } = settings
      const options: JWTVerifyOptions = {
        algorithms: form.algorithms.filter(
          (it) => SYMMETRIC.includes(it) === (settings.secret !== undefined),
        ),
        ...(issuer === undefined ? {} : { issuer: [issuer].flat() }),
        ...(audience === undefined ? {} : { audience }),
        clockTolerance: toleranceMs / 1000,
        requiredClaims: [
          ...(form.requiresExp === true && needsExp(settings) ? ["exp"] : []),
          ...(form.limitsAge === true ? ["iat"] : []),
        ],
      }
      return credentialVerifier({
        needs: form.bodyHash === undefined ? "headers" : "body",
        isQuick: settings.secret !== undefined,
        toleranceMs,
        read: (request) => readToken(form, request),
        async check(token, { body }, nowMs) {
          let refused = new Refused("no_match", "signature mismatch")
          for (const key of keys) {
            const payload = await checkToken(token, key, { ...options, currentDate: new Date(nowMs) })
            if (!(payload instanceof Refused)) {
              const age = form.limitsAge === true ? checkAge(payload, toleranceMs, nowMs) : undefined
              return age ?? checkClaims(payload, form, settings, body)
            }
            if (payload.reason !== "no_match") return payload
            refused = payload
          }
          return refused
        },
        show: (token) => ({
          signed: Buffer.from(token.slice(0, token.lastIndexOf("."))),
          received: [token],
        }),
      })
    },
    signer: (settings) => ({
      async sign(request, nowMs) {
        const token = await makeToken(form, settings, request.body, nowMs)
        return withHeaders(
          request,
          form.header === undefined ? { Authorization: `Bearer ${token}` } : { [form.header]: token },
        )
      },
    }),
  }
}

const needsExp = ({ require_exp: required }: VerifierSettings): boolean => required !== "false"

function keysOf(form: JwtForm, settings: VerifierSettings, fetcher: Fetcher): readonly VerifyingKey[] {
  if (settings.secret !== undefined) return listOf(settings, "secret").map((it) => ({ one: Buffer.from(it) }))
  if (settings.public_key !== undefined) {
    const texts = listOf(settings, "public_key")
    return texts.map((it) => ({ one: importPublicKey(it, ["rsa", "rsa-pss", "ec", "ed25519"]) }))
  }
  const text = settings.jwks_url ?? form.jwksUrl ?? textOf(settings, "jwks_url")
  return [remoteKeys(text, fetcher)]
}

const headerOf = ({ header = "Authorization" }: JwtForm): string => header

function readToken(form: JwtForm, { headers }: SignedRequest): string | Refused {
  const header = headerOf(form)
  const value = headers.get(header)
  if (value === null || value === "") return new Refused("missing_header", `no ${header}`)
  const token = form.header === undefined ? /^Bearer +(\S+)$/i.exec(value)?.[1] : value
  return token !== undefined && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)
    ? token
    : new Refused("malformed", `${header} is not a ${form.header === undefined ? "bearer " : ""}JWT`)
}

/** jose's own age check rejects a token from a clock that is a second ahead. */
function checkAge({ iat }: JWTPayload, toleranceMs: number, nowMs: number): Refused | undefined {
  if (typeof iat !== "number") return new Refused("malformed", "iat is not a number")
  return checkFreshness(iat * 1000, nowMs, toleranceMs)
}

function checkClaims(
  payload: JWTPayload,
  form: JwtForm,
  settings: VerifierSettings,
  body: Uint8Array,
): VerificationResult {
  if (
    settings.email !== undefined &&
    (payload["email"] !== settings.email || payload["email_verified"] !== true)
  )
    return new Refused("wrong_claim", "email is not the configured service account")
  if (form.bodyHash !== undefined) {
    const { claim, encoding } = form.bodyHash
    const hash = payload[claim]
    if (typeof hash !== "string") return new Refused("malformed", `no ${claim} in the token`)
    if (!sameText(hash, sha256([body], encoding)))
      return new Refused("no_match", `${claim} does not match the body`)
  }
  return new Verified(payload.iat === undefined ? undefined : payload.iat * 1000)
}

async function makeToken(
  form: JwtForm,
  settings: VerifierSettings,
  body: Uint8Array,
  nowMs: number,
): Promise<string> {
  const { SignJWT } = await import("jose")
  const secret = listOf(settings, "secret")[0]!
  const issued = Math.floor(nowMs / 1000)
  const issuer = settings.issuer ?? [form.issuer ?? []].flat()[0]
  const token = new SignJWT({
    iat: issued,
    exp: issued + 300,
    ...(issuer === undefined ? {} : { iss: issuer }),
    ...(settings.audience === undefined ? {} : { aud: settings.audience }),
    ...(settings.email === undefined ? {} : { email: settings.email, email_verified: true }),
    ...(form.bodyHash === undefined ? {} : { [form.bodyHash.claim]: sha256([body], form.bodyHash.encoding) }),
  })
  if (!secret.includes("PRIVATE KEY"))
    return token.setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(secret))
  const key = importPrivateKey(secret)
  const { crv } = createPublicKey(key).export({ format: "jwk" })
  const alg = { "P-256": "ES256", "P-384": "ES384", "P-521": "ES512", Ed25519: "EdDSA" }[crv ?? ""] ?? "RS256"
  return token.setProtectedHeader({ alg }).sign(key)
}
