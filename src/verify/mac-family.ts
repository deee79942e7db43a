import { listOf, type Coverage, type Family, type SettingKey, type VerifierSettings } from "./family.ts"
import { digestSpelling, macKeys, type Algorithm, type Encoding } from "./mac.ts"
import type { Signed } from "./payload.ts"
import { decodeSecret, SECRET_FORMS, type SecretForm } from "./secrets.ts"
import { signatureVerifier, type Claim } from "./signature.ts"
import type { Refused, Sendable, SignedRequest, UnsignedRequest } from "./verifier.ts"

/** A scheme of HMAC signatures: how they are made, where they are read, how they are written. */
export interface MacScheme {
  readonly signsUrl: boolean
  readonly algorithm: Algorithm
  readonly encoding: Encoding
  /** What a signature begins with in the request. */
  readonly prefix?: string | undefined
  read(request: SignedRequest): Claim | Refused
  /** @param expected makes the signature of what is signed, prefix and all */
  write(request: UnsignedRequest, nowMs: number, expected: (signed: Signed) => string): Sendable
}

export interface MacTraits {
  readonly family: string
  readonly secret?: SecretForm | undefined
  /** Milliseconds; 0: not checked unless set; undefined: no time is signed. */
  readonly toleranceMs?: number | undefined
  /** Whether the URL is signed, or may be by the settings. */
  readonly signsUrl?: boolean
  /** What is signed where it is not the whole body, the time if there is a tolerance, and no id. */
  readonly covers?: ((settings: VerifierSettings) => Coverage) | undefined
  /** Keys beside secret and tolerance. */
  readonly optional?: readonly SettingKey[] | undefined
  readonly requires?: readonly (readonly SettingKey[])[]
}

/** A family of HMAC signatures; the scheme may depend on settings. */
export function macFamily(schemeOf: (settings: VerifierSettings) => MacScheme, traits: MacTraits): Family {
  const { toleranceMs, secret = "text", signsUrl = false } = traits
  const prepare = (settings: VerifierSettings) => {
    const scheme = schemeOf(settings)
    const secrets = listOf(settings, "secret").map((text) => decodeSecret(text, secret))
    return { scheme, keys: macKeys(secrets, scheme) }
  }
  return {
    family: traits.family,
    requires: traits.requires ?? [["secret"]],
    optional: [...(toleranceMs === undefined ? [] : (["tolerance"] as const)), ...(traits.optional ?? [])],
    secretForm: SECRET_FORMS[secret],
    toleranceMs,
    signsUrl,
    keyBytes: () => (text) => decodeSecret(text, secret).length,
    covers: traits.covers ?? (() => ({ body: "whole", time: toleranceMs !== undefined, id: false })),
    verifier(settings) {
      const { scheme, keys } = prepare(settings)
      const spelling = digestSpelling(scheme.algorithm, scheme.encoding, scheme.prefix)
      const read = (request: SignedRequest): Claim | Refused => scheme.read(request)
      return signatureVerifier(
        { signsUrl: scheme.signsUrl, read, spelling },
        keys,
        settings.tolerance ?? toleranceMs ?? 0,
      )
    },
    signer(settings) {
      const { scheme, keys } = prepare(settings)
      return { sign: (request, nowMs) => scheme.write(request, nowMs, keys[0]!.expected) }
    },
  }
}
