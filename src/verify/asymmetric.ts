import { sign, verify, type KeyObject } from "node:crypto"
import { listOf, type Family, type SettingKey, type VerifierSettings } from "./family.ts"
import { coverageOf, hmacScheme, type HmacForm } from "./hmac.ts"
import { joinSigned } from "./payload.ts"
import { importPrivateKey, importPublicKey } from "./public-key.ts"
import { decodeBase64 } from "./secrets.ts"
import { signatureVerifier, type Key, type Scheme } from "./signature.ts"

/** How a scheme of public keys is laid out: as an HMAC scheme is, with another way to make the signature. */
export type AsymmetricForm = Omit<HmacForm, "algorithm" | "list" | "encoding"> & {
  readonly encoding: "hex" | "base64"
}

interface Kind {
  readonly family: string
  /** Of keys, as Node.js names them. */
  readonly keyType: string
  /** The hash that the signature is of; null where the algorithm brings its own. */
  readonly hash: "sha256" | null
  readonly spelling: { readonly [encoding in "hex" | "base64"]: Scheme["spelling"] }
}

/** RFC 8032 */
const ED25519: Kind = {
  family: "ed25519",
  keyType: "ed25519",
  hash: null,
  spelling: {
    hex: { test: /^[0-9a-f]{128}$/i, words: "128 hexadecimal digits" },
    base64: { test: /^[A-Za-z0-9+/]{86}==$/, words: "base64 of 64 bytes" },
  },
}

/** Signatures are the DER of RFC 3279, section 2.2.3. */
const ECDSA: Kind = {
  family: "ecdsa",
  keyType: "ec",
  hash: "sha256",
  spelling: {
    hex: { test: /^30[0-9a-f]{12,}$/i, words: "hexadecimal digits of a DER sequence" },
    base64: { test: /^M[A-Za-z0-9+/]{8,}={0,2}$/, words: "base64 of a DER sequence" },
  },
}

interface Traits {
  readonly toleranceMs?: number
  readonly optional?: readonly SettingKey[]
}

type Adapt = (settings: VerifierSettings) => AsymmetricForm

/** Ed25519 signatures. */
export const ed25519Signature = (form: AsymmetricForm, traits?: Traits, adapt?: Adapt): Family =>
  asymmetric(ED25519, form, traits, adapt)

/** ECDSA signatures with SHA-256; the curve is the key's. */
export const ecdsaSignature = (form: AsymmetricForm, traits?: Traits, adapt?: Adapt): Family =>
  asymmetric(ECDSA, form, traits, adapt)

function asymmetric(
  kind: Kind,
  form: AsymmetricForm,
  traits: Traits = {},
  adapt: Adapt = () => form,
): Family {
  return {
    family: kind.family,
    requires: [["public_key"]],
    optional: [
      ...(traits.toleranceMs === undefined ? [] : (["tolerance"] as const)),
      ...(traits.optional ?? []),
    ],
    secretForm: undefined,
    toleranceMs: traits.toleranceMs,
    signsUrl: form.payload?.includes("{url}") ?? false,
    covers: (settings) => coverageOf(adapt(settings)),
    verifier(settings) {
      const adapted = adapt(settings)
      const { read } = hmacScheme(adapted)
      const keys = listOf(settings, "public_key").map((text) =>
        checkingKey(importPublicKey(text, [kind.keyType]), kind, adapted),
      )
      const signsUrl = adapted.payload?.includes("{url}") ?? false
      const spelling = kind.spelling[adapted.encoding]
      return signatureVerifier(
        { signsUrl, read, spelling },
        keys,
        settings.tolerance ?? traits.toleranceMs ?? 0,
      )
    },
    signer(settings) {
      const adapted = adapt(settings)
      const scheme = hmacScheme(adapted)
      const key = importPrivateKey(listOf(settings, "secret")[0]!)
      return {
        sign: (request, nowMs) =>
          scheme.write(
            request,
            nowMs,
            (signed) =>
              (adapted.prefix ?? "") + sign(kind.hash, joinSigned(signed), key).toString(adapted.encoding),
          ),
      }
    },
  }
}

function checkingKey(key: KeyObject, { hash }: Kind, { prefix = "", encoding }: AsymmetricForm): Key {
  return {
    matches(signed, signature) {
      if (!signature.startsWith(prefix)) return false
      const text = signature.slice(prefix.length)
      const bytes = encoding === "base64" ? decodeBase64(text) : decodeHex(text)
      return bytes !== undefined && verify(hash, joinSigned(signed), key, bytes)
    },
  }
}

const decodeHex = (text: string): Uint8Array | undefined =>
  /^(?:[0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, "hex") : undefined
