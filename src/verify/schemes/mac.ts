import { mac } from "../crypto.ts"
import type { Algorithm, Encoding } from "../pieces.ts"
import type { Signed, Key, Scheme } from "./signature-verifier.ts"

/** How a signature is made and spelled; default: SHA-256 in hexadecimal digits. */
export interface MacForm {
  readonly algorithm?: Algorithm | undefined
  readonly encoding?: Encoding | undefined
  /** `sha256=`, `v0=` */
  readonly prefix?: string | undefined
}

const BYTES: { readonly [algorithm in Algorithm]: number } = { sha1: 20, sha256: 32, sha512: 64 }

/** The keys of an HMAC scheme (RFC 2104), which make signatures as text, prefix included. */
export function macKeys(
  secrets: readonly Uint8Array[],
  { algorithm = "sha256", encoding = "hex", prefix = "" }: MacForm,
): (Key & { expected: (signed: Signed) => string })[] {
  return secrets.map((secret) => {
    const digest = mac(algorithm, secret)
    return { expected: (signed) => prefix + digest(signed, encoding) }
  })
}

/** The spelling of a form's digest, one for all verifiers of it. */
export function digestSpelling(form: MacForm): Scheme["spelling"] {
  let spelling = SPELLINGS.get(form)
  if (spelling === undefined) SPELLINGS.set(form, (spelling = spellingOf(form)))
  return spelling
}

const SPELLINGS = new WeakMap<MacForm, Scheme["spelling"]>()

function spellingOf({ algorithm = "sha256", encoding = "hex", prefix = "" }: MacForm): Scheme["spelling"] {
  const bytes = BYTES[algorithm]
  const plain = Math.ceil((bytes * 4) / 3)
  const after = prefix === "" ? "" : ` after ${prefix}`
  const form = {
    hex: { pattern: `[0-9a-fA-F]{${bytes * 2}}`, words: `${bytes * 2} hexadecimal digits` },
    base64: {
      pattern: `[A-Za-z0-9+/]{${plain}}={${(3 - (bytes % 3)) % 3}}`,
      words: `base64 of ${bytes} bytes`,
    },
    base64url: { pattern: `[A-Za-z0-9_-]{${plain}}`, words: `base64url of ${bytes} bytes, without padding` },
  }[encoding]
  return {
    test: new RegExp(`^${literally(prefix)}${form.pattern}$`),
    words: form.words + after,
    ...(encoding === "hex" && { usual: (text) => prefix + text.slice(prefix.length).toLowerCase() }),
  }
}

/** A pattern that matches a text alone, as RegExp.escape makes it where there is one. */
export const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")
