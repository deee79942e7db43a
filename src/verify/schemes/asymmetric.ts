import { generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto"
import { joined } from "../pieces.ts"
import { listOf, type Family, type VerifierSettings } from "./family.ts"
import { coverageOf, hmacScheme } from "./hmac.ts"
import { formReader, type AsymmetricForm } from "./hmac-form.ts"
import { importPrivateKey, importPublicKey } from "./public-key.ts"
import { decodeBase64, decodeHex } from "./secrets.ts"
import { type Signed, signatureVerifier, type Key, type Scheme } from "./signature-verifier.ts"

interface Kind {
  readonly family: string
  /** Node.js' name of the key type. */
  readonly keyType: string
  /** null: the algorithm has its own. */
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

/** RFC 8017, 8.2: RSASSA-PKCS1-v1_5. Keys of 2048 bits or more. */
const RSA: Kind = {
  family: "rsa",
  keyType: "rsa",
  hash: "sha256",
  spelling: {
    hex: { test: /^(?:[0-9a-f]{2}){256,1024}$/i, words: "hexadecimal digits of 256 bytes or more" },
    base64: { test: /^(?![0-9a-f]+$)[A-Za-z0-9+/]{342,1366}={0,2}$/, words: "base64 of 256 bytes or more" },
  },
}

type Adapt = (settings: VerifierSettings) => AsymmetricForm

/** Ed25519 signatures. */
export const ed25519Signature = (form: AsymmetricForm, adapt?: Adapt): Family =>
  asymmetric(ED25519, form, adapt)

/** ECDSA signatures with SHA-256; the curve is the key's. */
export const ecdsaSignature = (form: AsymmetricForm, adapt?: Adapt): Family => asymmetric(ECDSA, form, adapt)

/** RSA signatures with SHA-256. */
export const rsaSignature = (form: AsymmetricForm): Family => asymmetric(RSA, form)

function asymmetric(kind: Kind, form: AsymmetricForm, adapt: Adapt = () => form): Family {
  const { toleranceMs, optional } = form
  return {
    family: kind.family,
    toleranceMs,
    optional,
    requires: [["public_key"]],
    signsUrl: signsUrl(form),
    covers: (settings) => coverageOf(adapt(settings)),
    verifier(settings) {
      const adapted = adapt(settings)
      const keys = listOf(settings, "public_key").map((text) =>
        checkingKey(importPublicKey(text, [kind.keyType]), kind, adapted),
      )
      const read = formReader(adapted)
      const scheme = { signsUrl: signsUrl(adapted), read, spelling: kind.spelling[adapted.encoding] }
      return signatureVerifier(scheme, keys, settings.tolerance ?? toleranceMs ?? 0)
    },
    signer(settings) {
      const adapted = adapt(settings)
      const { prefix = "", encoding } = adapted
      const key = importPrivateKey(listOf(settings, "secret")[0]!)
      const { write } = hmacScheme(adapted)
      const signature = (signed: Signed): string =>
        prefix + sign(kind.hash, joined(signed), key).toString(encoding)
      return { sign: (request, nowMs) => write(request, nowMs, signature) }
    },
  }
}

const signsUrl = ({ payload }: AsymmetricForm): boolean => payload?.includes("{url}") ?? false

function checkingKey(key: KeyObject, { hash }: Kind, { prefix = "", encoding }: AsymmetricForm): Key {
  return {
    matches(signed, signature) {
      if (!signature.startsWith(prefix)) return false
      const text = signature.slice(prefix.length)
      const bytes = encoding === "base64" ? decodeBase64(text) : decodeHex(text)
      return bytes !== undefined && verify(hash, joined(signed), key, bytes)
    },
  }
}

/** A new private key (PEM, PKCS #8) for examples of a family of public keys. */
export function anyPrivateKey(family: string): string {
  const { privateKey } =
    family === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: "P-256" })
  return privateKey.export({ format: "pem", type: "pkcs8" }).toString()
}
