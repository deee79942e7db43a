import { Buffer } from "node:buffer"
import { MOST_SIGNATURES } from "../schemes/family.ts"
import type { SignedRequest } from "../verifier.ts"
import type { Candidate, MistakeKind, SuggestedOptions } from "./inquiry.ts"

/** A digest or signature in a header's value. */
interface Digest {
  readonly start: number
  readonly end: number
  readonly bytes: Uint8Array
  readonly encoding: "hex" | "base64" | "base64url"
}

/** Bytes of SHA-1, SHA-256, SHA-512 or Ed25519, and RSA with 2048 bits. DER signatures start with 0x30. */
const SIZES = [20, 32, 64, 256]

export function digestsIn(text: string): Digest[] {
  const digests: Digest[] = []
  for (const { 0: token, index } of text.matchAll(/[A-Za-z0-9+/_-]{27,}={0,2}/g)) {
    const isHex =
      /^(?:[0-9a-f]{2})+$/i.test(token) && (SIZES.includes(token.length / 2) || token.startsWith("30"))
    const bytes = Buffer.from(token, isHex ? "hex" : "base64")
    if (!SIZES.includes(bytes.length) && bytes[0] !== 0x30) continue
    const encoding = isHex ? "hex" : isBase64Url(token, bytes) ? "base64url" : "base64"
    digests.push({ start: index, end: index + token.length, bytes, encoding })
  }
  return digests.slice(0, MOST_SIGNATURES)
}

/** Whether a text lacks the padding of base64, or has its other characters; one that needs no padding may be either. */
const isBase64Url = (token: string, { length }: Uint8Array): boolean =>
  /[-_]/.test(token) || (length % 3 !== 0 && !/[+/=]/.test(token))

/**
 * Headers with one mistake undone: a duplicate, another spelling of the signature, another header.
 *
 * @param example the headers of a request signed by the scheme with any key
 */
export function* otherHeaders(request: SignedRequest, example: Headers): Iterable<Candidate> {
  const received = request.headers
  const candidate = (
    kind: MistakeKind,
    detail: string,
    changed: readonly (readonly [string, string])[],
    options?: SuggestedOptions,
  ): Candidate => {
    const headers = new Headers(received)
    for (const [name, value] of changed) headers.set(name, value)
    return { mistake: { kind, detail, options }, request: { ...request, headers } }
  }
  const repeated = [...received].filter(([, value]) => isRepeated(value))
  if (repeated.length > 0) {
    const names = repeated.map(([name]) => name).join(", ")
    yield candidate(
      "header_twice",
      names,
      repeated.map(([name, value]) => [name, halfOf(value)]),
    )
  }
  for (const [name, value] of received) {
    for (const one of new Set(value.split(", ", MOST_SIGNATURES)))
      if (one !== value) yield candidate("header_twice", name, [[name, one]])
  }
  for (const [name, signed] of example) {
    const model = digestsIn(signed).at(-1)
    if (model === undefined) continue
    const prefix = prefixBefore(signed, model)
    const others = [...received].flatMap(([other, value]) =>
      digestsIn(value)
        .flatMap((digest) => respell(value, digest, model.encoding, prefix))
        .map((it) => ({ other, value, ...it })),
    )
    // the example has one of several alternative headers
    for (const { other, value, spelling, respelled, options } of others)
      if (respelled !== value) yield candidate("signature_spelling", spelling, [[other, respelled]], options)
    for (const { other, respelled, options } of others)
      if (other !== name)
        yield candidate("header_other", `${other} for ${name}`, [[name, respelled]], {
          header: other,
          ...options,
        })
  }
}

/** Headers of one name are joined by a comma and a space. */
const halfOf = (value: string): string => value.slice(0, (value.length - 2) / 2)
const isRepeated = (value: string): boolean => value === `${halfOf(value)}, ${halfOf(value)}`

/** The prefix of a digest: `sha256=`, `v1,`. */
export const prefixBefore = (text: string, { start }: Digest): string =>
  /[A-Za-z][A-Za-z0-9]*[=,]$/.exec(text.slice(0, start))?.[0] ?? ""

/**
 * Spellings of a value with one digest in the scheme's encoding: as before, and with the prefix added or replaced; with the
 * options for the received one.
 */
function respell(value: string, digest: Digest, encoding: Digest["encoding"], prefix: string) {
  const before = value.slice(0, digest.start)
  const [token, after] = [value.slice(digest.start, digest.end), value.slice(digest.end)]
  const encoded = Buffer.from(digest.bytes).toString(encoding)
  const own = prefixBefore(value, digest)
  const coded =
    digest.encoding !== encoding
      ? `${digest.encoding} instead of ${encoding}`
      : token === encoded
        ? undefined
        : "in upper case"
  const decoding: SuggestedOptions = digest.encoding === encoding ? {} : { encoding: digest.encoding }
  const kept = { spelling: coded ?? "as it is", respelled: before + encoded + after, options: decoding }
  if (own === prefix) return [kept]
  const prefixed =
    own === "" ? `without the prefix ${prefix}` : `with the prefix ${own} instead of ${prefix || "none"}`
  const spelling = coded === undefined ? prefixed : `${coded}, and ${prefixed}`
  const options = { ...decoding, prefix: own === "" ? '""' : own }
  const bare = before.slice(0, before.length - own.length)
  return [
    kept,
    { spelling, respelled: before + prefix + encoded + after, options },
    { spelling, respelled: bare + prefix + encoded + after, options },
  ]
}
