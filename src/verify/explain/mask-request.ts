import { headerText } from "../../headers.ts"
import { makeVerifier, type Verification } from "../presets/providers.ts"
import { WrongSetting } from "../schemes/family.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import type { SignedRequest } from "../verifier.ts"
import { concealer, shownUrlOf, type Conceal } from "./conceal.ts"
import { maskForms } from "./mask-plain.ts"
import { maskText, maskValue } from "./mask-text.ts"
import { hidden, isSignatureName, isTokenName } from "./secret-names.ts"
import { isToken } from "./report.ts"

/** A signature or token is no shorter. */
const RUN = /[A-Za-z0-9+/_-]{16,}={0,2}/g
const SHOWN_CHARACTERS = 6

/**
 * A request as it is shown, without what would let its reader send one. Masks tokens (their length is left) and signatures
 * (six characters are): what the pipeline's Verifiers read, the secrets of their settings, and what has the name or form of
 * one. Values of headers become text.
 */
export async function maskRequest(
  request: SignedRequest,
  verifications: readonly Verification[],
  nowMs: number,
) {
  const known = await knownMasks(request, verifications, nowMs)
  const mask: Conceal = (text) => known(maskValue(text))
  const headers = [...request.headers].map(([name, value]): [string, string] => [
    name,
    maskHeader(name, headerText(value), mask),
  ])
  const url = known(maskForms(shownUrlOf(request, maskText)))
  return { url, headers, body: maskBytes(request.body, (text) => maskText(known(text))) }
}

/** A header's value, of a request or a record, by its name and what has the form of a credential. */
export function maskHeader(name: string, value: string, mask: Conceal = maskValue): string {
  if (isTokenName(name)) return hiddenAfterScheme(value)
  return isSignatureName(name) ? mask(value).replace(RUN, shortened) : mask(value)
}

const shortened = (value: string): string =>
  value.length <= SHOWN_CHARACTERS
    ? hidden(value)
    : `${value.slice(0, SHOWN_CHARACTERS)}...(${value.length} characters)`
/** `Bearer (40 characters)` */
function hiddenAfterScheme(value: string): string {
  const [, scheme = "", rest = value] = /^([A-Za-z-]{1,20} +)(\S.*)$/.exec(value) ?? []
  return scheme + hidden(rest)
}

/** Bytes as Latin-1, so that those which are no text stay as they are. */
function maskBytes(bytes: Uint8Array, mask: Conceal): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1")
  const masked = mask(text)
  return masked === text ? bytes : Buffer.from(masked, "latin1")
}

/** Masks the secrets of settings, and what Verifiers read of a request. */
async function knownMasks(
  request: SignedRequest,
  verifications: readonly Verification[],
  nowMs: number,
): Promise<Conceal> {
  const masks: Conceal[] = []
  for (const { provider, settings } of verifications) {
    masks.push(concealer(settings))
    try {
      const explanation = await makeVerifier(provider, settings, OFFLINE).explain(request, nowMs)
      const show = isToken({ provider, settings }, explanation) ? hidden : shortened
      for (const read of explanation.received)
        for (const spelled of spellings(read)) masks.push((text) => text.replaceAll(spelled, show(read)))
    } catch (error) {
      // a secret that the provider has yet to send
      if (!(error instanceof WrongSetting)) throw error
    }
  }
  return (text) => masks.reduce((masked, mask) => mask(masked), text)
}

/** As a text may hold it: also in a URL, in JSON, and as Latin-1. */
const spellings = (text: string): readonly string[] =>
  text.length < 4
    ? []
    : [
        ...new Set([
          text,
          encodeURIComponent(text),
          text.replaceAll("/", String.raw`\/`),
          Buffer.from(text).toString("latin1"),
        ]),
      ]

/** Looking at a request asks nobody for keys. */
const OFFLINE: Fetcher = {
  fetch: () => Promise.reject(new Error("keys are not fetched to show a request")),
  rootCertificates: [],
}
