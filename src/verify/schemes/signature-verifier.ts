// Hot path: every event of a verified pipeline passes here.
import { Refused, Verified, type SignedRequest, type Verifier } from "../verifier.ts"
import { sameText } from "../crypto.ts"
import { joined, type Pieces } from "../pieces.ts"
import { toHeaderValue } from "../../headers.ts"
import { credentialVerifier } from "./credential.ts"
import { WrongSetting, MOST_SIGNATURES } from "./family.ts"
import { checkFreshness } from "./freshness.ts"

/** The signed bytes. */
export type Signed = Pieces

const PLACEHOLDERS = ["timestamp", "id", "method", "url", "body"] as const
type PayloadPart = (typeof PLACEHOLDERS)[number]

/** Values of a template's placeholders: texts with a character for each byte. */
export type PayloadParts = { readonly [part in PayloadPart]: part extends "body" ? Uint8Array : string }

export type Payload = (parts: PayloadParts) => Signed

/**
 * Parses a template of the signed text, with the placeholders `{timestamp}`, `{id}`, `{method}`, `{url}` and `{body}`.
 *
 * @throws WrongSetting for another name in braces, or without `{body}`
 */
export function parsePayload(template: string): Payload {
  const pieces = template.split(/\{(\w*)\}/).map(toHeaderValue)
  const found = new Set<string>()
  for (let i = 1; i < pieces.length; i += 2) {
    const placeholder = PLACEHOLDERS.find((it) => it === pieces[i])
    if (placeholder === undefined)
      throw new WrongSetting(
        "payload",
        `unknown placeholder {${pieces[i]}}; expected one of ${PLACEHOLDERS.map((it) => `{${it}}`).join(", ")}`,
      )
    found.add(placeholder)
  }
  if (!found.has("body")) throw new WrongSetting("payload", "has no {body}")
  if (template === "{body}") return ({ body }) => [body]

  // hot path: adjacent text is joined
  return (parts) => {
    const signed: (string | Uint8Array)[] = []
    let text = pieces[0]!
    for (let i = 1; i < pieces.length; i += 2) {
      const value = parts[pieces[i] as PayloadPart]
      if (typeof value === "string") text += value
      else {
        if (text !== "") signed.push(text)
        signed.push(value)
        text = ""
      }
      text += pieces[i + 1]!
    }
    if (text !== "") signed.push(text)
    return signed
  }
}

/** What a request claims, unverified. */
export interface Claim {
  /** As the request spells them; one must match. */
  readonly signatures: readonly string[]
  readonly signed: Signed
  /** Alternatives that may have been signed: a URL with its port and without. */
  readonly orSigned?: readonly Signed[] | undefined
  readonly timestampMs?: number | undefined
  readonly id?: string | undefined
  /** Whether only the parameters of a form are signed. */
  readonly isForm?: boolean | undefined
}

/** Makes the expected signature or, with a public key, checks one. */
export type Key =
  | {
      readonly expected: (signed: Signed) => string
      /** The signature by the other key that the sender may derive from the same secret. */
      readonly orExpected?: ((signed: Signed) => string) | undefined
    }
  | { readonly matches: (signed: Signed, signature: string) => boolean }

/** Reads signatures of one scheme from requests. */
export interface Scheme {
  readonly signsUrl: boolean
  read(request: SignedRequest): Claim | Refused
  /** The form of a signature, as a pattern and in words for the refusal. */
  readonly spelling: {
    readonly test: RegExp
    readonly words: string
    /** The usual one of several spellings of a signature that `test` accepts: digits in lower case. */
    readonly usual?: (signature: string) => string
  }
}

/** Reads a claim, checks its time, then tries each key on each signature. */
export function signatureVerifier(
  { signsUrl, read, spelling }: Scheme,
  keys: readonly Key[],
  toleranceMs: number,
): Verifier {
  /** Shared results by key, for schemes that sign neither time nor id. */
  const bare = keys.map((_, i) => new Verified(undefined, undefined, i))
  const mismatch =
    keys.length === 1 ? "signature mismatch" : `the signature matches none of ${keys.length} keys`
  return credentialVerifier<Claim>({
    needs: "body",
    isQuick: keys.every((key) => "expected" in key),
    signsUrl,
    toleranceMs,
    read,
    check(claim, _request, nowMs) {
      const { timestampMs, id, isForm = false } = claim
      if (timestampMs !== undefined) {
        const refused = checkFreshness(timestampMs, nowMs, toleranceMs)
        if (refused !== undefined) return refused
      }
      let key = keys.findIndex((it) => matches(it, claim))
      const wellFormed = key < 0 ? claim.signatures.filter((signature) => spelling.test.test(signature)) : []
      if (key < 0 && spelling.usual !== undefined) {
        const signatures = wellFormed.map(spelling.usual).filter((it, i) => it !== wellFormed[i])
        if (signatures.length > 0) key = keys.findIndex((it) => matches(it, { ...claim, signatures }))
      }
      if (key < 0)
        return wellFormed.length > 0
          ? new Refused("no_match", mismatch)
          : new Refused("malformed", `the signature is not ${spelling.words}`)
      if (timestampMs === undefined && id === undefined && !isForm) return bare[key]!
      return new Verified(timestampMs, id, key, isForm)
    },
    show({ signatures, signed: usual, orSigned, timestampMs }) {
      const matching = orSigned?.find((it) => keys.some((key) => matchesOne(key, signatures, it)))
      const signed = matching ?? usual
      const expected = keys.flatMap((key) => ("expected" in key ? expectedOf(key, signed, signatures) : []))
      return { signed: joined(signed), received: signatures, expected, timestampMs }
    },
  })
}

function matches(key: Key, { signatures, signed, orSigned }: Claim): boolean {
  if (matchesOne(key, signatures, signed)) return true
  return orSigned?.some((other) => matchesOne(key, signatures, other)) ?? false
}

function matchesOne(key: Key, signatures: readonly string[], signed: Signed): boolean {
  const most = Math.min(signatures.length, MOST_SIGNATURES)
  if ("expected" in key) {
    if (hasText(signatures, key.expected(signed))) return true
    return key.orExpected !== undefined && hasText(signatures, key.orExpected(signed))
  }
  for (let i = 0; i < most; i++) if (key.matches(signed, signatures[i]!)) return true
  return false
}

function hasText(signatures: readonly string[], expected: string): boolean {
  const most = Math.min(signatures.length, MOST_SIGNATURES)
  for (let i = 0; i < most; i++) if (sameText(expected, signatures[i]!)) return true
  return false
}

/** The signature that a secret makes: of two, the one that was received, else the first. */
function expectedOf(
  { expected, orExpected }: Extract<Key, { readonly expected: unknown }>,
  signed: Signed,
  received: readonly string[],
): string {
  const other = orExpected?.(signed)
  return other !== undefined && hasText(received, other) ? other : expected(signed)
}
