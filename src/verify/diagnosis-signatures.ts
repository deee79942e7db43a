import { MOST_SIGNATURES } from "./family.ts"
import type { Mistake } from "./diagnosis-words.ts"

/** A digest or signature in a header's value. */
interface Digest {
  readonly start: number
  readonly end: number
  readonly bytes: Uint8Array
  readonly encoding: "hex" | "base64" | "base64url"
}

/** Bytes of SHA-1, SHA-256, and of SHA-512 and Ed25519; DER signatures of P-256 are told by their first byte. */
const SIZES = [20, 32, 64]

/** What in a text looks like a digest or a signature. */
export function digestsIn(text: string): Digest[] {
  const digests: Digest[] = []
  for (const { 0: token, index } of text.matchAll(/[A-Za-z0-9+/_-]{27,}={0,2}/g)) {
    const isHex =
      /^(?:[0-9a-f]{2})+$/i.test(token) && (SIZES.includes(token.length / 2) || token.startsWith("30"))
    const bytes = Buffer.from(token, isHex ? "hex" : "base64")
    if (!SIZES.includes(bytes.length) && bytes[0] !== 0x30) continue
    // each of the sizes has padding in base64
    const encoding = isHex ? "hex" : token.endsWith("=") || /[+/]/.test(token) ? "base64" : "base64url"
    digests.push({ start: index, end: index + token.length, bytes, encoding })
  }
  return digests.slice(0, MOST_SIGNATURES)
}

/** Headers that may be what was meant, and what is wrong with those received if they are. */
export interface OtherHeaders {
  readonly mistake: Mistake
  readonly headers: Headers
}

/**
 * Headers as they would be with one mistake less: no header twice, the signature spelled as the scheme does, or in the
 * header where the scheme has it.
 *
 * @param example the headers of a request that is signed by the scheme, with any key
 */
export function* otherHeaders(received: Headers, example: Headers): Iterable<OtherHeaders> {
  const withHeader = (name: string, value: string): Headers => {
    const headers = new Headers(received)
    headers.set(name, value)
    return headers
  }
  const repeated = [...received].filter(([, value]) => isRepeated(value))
  if (repeated.length > 0) {
    const headers = new Headers(received)
    for (const [name, value] of repeated) headers.set(name, halfOf(value))
    yield { mistake: { kind: "header_twice", detail: repeated.map(([name]) => name).join(", ") }, headers }
  }
  for (const [name, value] of received) {
    for (const one of new Set(value.split(", ", MOST_SIGNATURES)))
      if (one !== value)
        yield { mistake: { kind: "header_twice", detail: name }, headers: withHeader(name, one) }
  }
  for (const [name, signed] of example) {
    const model = digestsIn(signed).at(-1)
    if (model === undefined) continue
    const prefix = prefixBefore(signed, model)
    const others = [...received].flatMap(([other, value]) =>
      digestsIn(value)
        .flatMap((digest) => respell(value, digest, model.encoding, prefix))
        .map(([spelling, respelled]) => ({ other, value, spelling, respelled })),
    )
    // where the scheme reads several headers, the example has one of them
    for (const { other, value, spelling, respelled } of others) {
      if (respelled === value) continue
      yield {
        mistake: { kind: "signature_spelling", detail: spelling },
        headers: withHeader(other, respelled),
      }
    }
    for (const { other, respelled } of others) {
      if (other === name) continue
      yield {
        mistake: { kind: "header_other", detail: `${other} for ${name}` },
        headers: withHeader(name, respelled),
      }
    }
  }
}

/** Two headers of one name are joined by a comma and a space. */
const halfOf = (value: string): string => value.slice(0, (value.length - 2) / 2)
const isRepeated = (value: string): boolean => value === `${halfOf(value)}, ${halfOf(value)}`

/** What stands right before a digest and belongs to it: `sha256=`, `v1,`. */
const prefixBefore = (text: string, { start }: Digest): string =>
  /[A-Za-z][A-Za-z0-9]*[=,]$/.exec(text.slice(0, start))?.[0] ?? ""

/** A value with one digest in the scheme's encoding: what stands before it kept, with the prefix put before it, or in its place. */
function respell(
  value: string,
  digest: Digest,
  encoding: Digest["encoding"],
  prefix: string,
): [string, string][] {
  const before = value.slice(0, digest.start)
  const [token, after] = [value.slice(digest.start, digest.end), value.slice(digest.end)]
  const encoded = Buffer.from(digest.bytes).toString(encoding)
  const own = prefixBefore(value, digest)
  const coded =
    digest.encoding !== encoding
      ? `${digest.encoding}, where ${encoding} is right`
      : token === encoded
        ? undefined
        : "in upper case"
  const kept: [string, string] = [coded ?? "as it is", before + encoded + after]
  if (own === prefix) return [kept]
  const prefixed =
    own === ""
      ? `without ${prefix} before it`
      : `with ${own} before it, where ${prefix || "nothing"} is right`
  const spelling = coded === undefined ? prefixed : `${coded}, and ${prefixed}`
  return [
    kept,
    [spelling, before + prefix + encoded + after],
    [spelling, before.slice(0, before.length - own.length) + prefix + encoded + after],
  ]
}
