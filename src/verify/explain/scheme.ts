import { Buffer } from "node:buffer"
import { mac, settle } from "../crypto.ts"
import type { Explanation, SignedRequest } from "../verifier.ts"
import { AS_TEXT, otherKeys } from "./candidates.ts"
import type { Mistake } from "./inquiry.ts"
import { digestsIn, prefixBefore } from "./signatures.ts"

const HMACS = { 20: "sha1", 32: "sha256", 64: "sha512" } as const
const isHmacSize = (size: number): size is keyof typeof HMACS => size in HMACS

/** Recognises an HMAC by the secret in another scheme: another hash, another form of the secret, the body alone. */
export async function otherScheme(
  explanation: Explanation,
  secrets: readonly string[],
  request: SignedRequest,
): Promise<Mistake | undefined> {
  // public-key signatures have no expected digest, and a token's matches whatever the body
  if (explanation.signed !== undefined && explanation.expected.length === 0) return undefined
  const received = [...request.headers].flatMap(([header, value]) =>
    digestsIn(value).map((digest) => ({ header, prefix: prefixBefore(value, digest), ...digest })),
  )
  const usual = digestsIn(explanation.expected[0] ?? "").at(-1)?.bytes.length
  const contents = [
    ["", explanation.signed],
    ["of the body alone", request.body],
  ] as const
  for (const { bytes, encoding, header, prefix } of received) {
    if (!isHmacSize(bytes.length)) continue
    const algorithm = HMACS[bytes.length]
    for (const [form, key] of secrets.flatMap(otherKeys)) {
      for (const [content, signed] of contents) {
        if (signed === undefined) continue
        const expected = await settle(() => mac(algorithm, key)([signed], "hex"))
        if (expected !== Buffer.from(bytes).toString("hex")) continue
        const isUsual = content === "" && bytes.length === usual
        if (isUsual) return { kind: "secret_form", detail: form }
        const scheme = `HMAC by ${algorithm.toUpperCase().replace("SHA", "SHA-")}`
        // the kind hmac uses secrets as text
        const options =
          form !== AS_TEXT
            ? undefined
            : content === ""
              ? { algorithm, encoding }
              : { provider: "hmac", header, algorithm, encoding, ...(prefix !== "" && { prefix }) }
        return {
          kind: "signature_scheme",
          detail: [scheme, content].join(" ").trim() + `, the secret ${form}`,
          options,
        }
      }
    }
  }
  return undefined
}
