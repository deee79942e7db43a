import type { Refused, Sendable, SignedRequest, UnsignedRequest, Verifier } from "../verifier.ts"
import { listOf, type Coverage, type Family, type SettingKey, type VerifierSettings } from "./family.ts"
import { digestSpelling, macKeys, type MacForm } from "./mac.ts"
import { decodeSecret, SECRET_FORMS, type SecretForm } from "./secrets.ts"
import { type Signed, signatureVerifier, type Claim } from "./signature-verifier.ts"

/** A scheme of HMAC signatures. */
export interface MacScheme extends MacForm {
  /** Default: as the family. */
  readonly signsUrl?: boolean
  read(request: SignedRequest): Claim | Refused
  /** @param expected makes a signature, prefix included */
  write(request: UnsignedRequest, nowMs: number, expected: (signed: Signed) => string): Sendable
}

export interface MacTraits {
  readonly family: string
  readonly secret?: SecretForm | undefined
  /** As in `Family`. */
  readonly toleranceMs?: number | undefined
  /** Whether the URL is signed, or may be. */
  readonly signsUrl?: boolean
  /** Default: the whole body, the time if there is a tolerance, no id. */
  readonly covers?: ((settings: VerifierSettings) => Coverage) | undefined
  /** Beside secret and tolerance. */
  readonly optional?: readonly SettingKey[] | undefined
  readonly requires?: readonly (readonly SettingKey[])[]
}

/** A verifier of HMAC signatures. @throws WrongSetting */
export function macVerifier(
  scheme: Omit<MacScheme, "write">,
  settings: VerifierSettings,
  { secret, toleranceMs = 0, signsUrl = false }: Pick<MacTraits, "secret" | "toleranceMs" | "signsUrl">,
): Verifier {
  return signatureVerifier(
    { signsUrl: scheme.signsUrl ?? signsUrl, read: scheme.read, spelling: digestSpelling(scheme) },
    keysOf(scheme, settings, secret),
    settings.tolerance ?? toleranceMs,
  )
}

const keysOf = (form: MacForm, settings: VerifierSettings, secret: SecretForm = "text") =>
  macKeys(
    listOf(settings, "secret").map((text) => decodeSecret(text, secret)),
    form,
  )

/** A family of HMAC signatures, whose scheme may depend on settings. */
export function macFamily(schemeOf: (settings: VerifierSettings) => MacScheme, traits: MacTraits): Family {
  const { toleranceMs, secret = "text", signsUrl = false } = traits
  return {
    family: traits.family,
    requires: traits.requires ?? [["secret"]],
    optional: traits.optional,
    secretForm: SECRET_FORMS[secret],
    toleranceMs,
    signsUrl,
    keyBytes: () => (text) => decodeSecret(text, secret).length,
    covers: traits.covers ?? (() => ({ body: "whole", time: toleranceMs !== undefined, id: false })),
    verifier: (settings) => macVerifier(schemeOf(settings), settings, traits),
    signer(settings) {
      const scheme = schemeOf(settings)
      const [key] = keysOf(scheme, settings, secret)
      return { sign: (request, nowMs) => scheme.write(request, nowMs, key!.expected) }
    },
  }
}
