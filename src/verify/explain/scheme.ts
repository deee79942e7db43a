import { otherKeys } from "./secrets.ts"
import { digestsIn } from "./signatures.ts"
import type { Mistake } from "./words.ts"
import type { Explanation, SignedRequest } from "../verifier.ts"

const HMACS = { 20: "sha1", 32: "sha256", 64: "sha512" } as const
const isHmacSize = (size: number): size is keyof typeof HMACS => size in HMACS

/** Recognises an HMAC by the secret in another scheme: another hash, another form of the secret, the body alone. */
export function otherScheme(
  explanation: Explanation,
  secrets: readonly string[],
  request: SignedRequest,
): Mistake | undefined {
  // public-key signatures have no expected digest, and a token's matches whatever the body
  if (explanation.signed !== undefined && explanation.expected.length === 0) return undefined
  const texts = [...request.headers.values()]
  const usual = digestsIn(explanation.expected[0] ?? "").at(-1)?.bytes.length
  const contents = [
    ["", explanation.signed],
    ["of the body alone", request.body],
  ] as const
  for (const { bytes } of texts.flatMap(digestsIn)) {
    if (!isHmacSize(bytes.length)) continue
    const algorithm = HMACS[bytes.length]
    for (const [form, key] of secrets.flatMap(otherKeys)) {
      for (const [content, signed] of contents) {
        if (signed === undefined) continue
        if (!new Bun.CryptoHasher(algorithm, key).update(signed).digest().equals(bytes)) continue
        const isUsual = content === "" && bytes.length === usual
        if (isUsual) return { kind: "secret_form", detail: form }
        const scheme = `HMAC by ${algorithm.toUpperCase().replace("SHA", "SHA-")}`
        return {
          kind: "signature_scheme",
          detail: [scheme, content].join(" ").trim() + `, the secret ${form}`,
        }
      }
    }
  }
  return undefined
}
