// Hot path: every event of a verified pipeline passes here.
import { secretTest } from "./constant-time.ts"
import {
  listOf,
  textOf,
  WrongSetting,
  type Coverage,
  type Family,
  type SettingKey,
  type VerifierSettings,
} from "./family.ts"
import { NOTHING_READ } from "./signature.ts"
import { Refused, Verified, type SignedRequest, type Verifier } from "./verifier.ts"

/** Where a token stands. */
export type TokenPlace =
  /** `prefix` is what stands before it: `Bearer `, in any case, or nothing */
  { readonly header: string; readonly prefix?: string | undefined } | { readonly query: string }

/**
 * A secret that is sent as it is: it proves who knows it and nothing about the body.
 *
 * @param placeOf tells the place by the settings
 */
export function token(
  placeOf: (settings: VerifierSettings) => TokenPlace,
  more: { requires?: readonly (readonly SettingKey[])[]; optional?: readonly SettingKey[] } = {},
): Family {
  return {
    family: "token",
    requires: more.requires ?? [["secret"]],
    optional: more.optional ?? [],
    secretForm: "the token as it is sent",
    toleranceMs: undefined,
    signsUrl: false,
    covers: () => NOTHING,
    verifier(settings) {
      const place = placeOf(settings)
      const tests = listOf(settings, "secret").map(secretTest)
      return presentedVerifier((request) => readToken(request, place), tests)
    },
    signer(settings) {
      const place = placeOf(settings)
      const [secret = ""] = listOf(settings, "secret")
      return {
        sign({ method, url, headers: given, body }) {
          const headers = new Headers(given)
          if ("header" in place) {
            headers.set(place.header, (place.prefix ?? "") + secret)
            return { method, url, headers, body }
          }
          const separator = url.includes("?") ? "&" : "?"
          const parameter = new URLSearchParams({ [place.query]: secret }).toString()
          return { method, url: `${url}${separator}${parameter}`, headers, body }
        },
      }
    },
  }
}

/** A token in one place, which settings can't move. */
export const tokenAt = (place: TokenPlace): Family => token(() => place)

/** A token whose place the settings say, in a header by default. */
export const tokenIn = (header: string, more?: { requires: readonly (readonly SettingKey[])[] }): Family =>
  token(
    (settings) => {
      if (settings.query !== undefined) {
        if (settings.header !== undefined)
          throw new WrongSetting("query", "is set beside header: one of them is right")
        return { query: textOf(settings, "query") }
      }
      return { header: settings.header ?? header, prefix: settings.prefix }
    },
    { optional: ["header", "prefix", "query"], ...more },
  )

/**
 * HTTP Basic authentication.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7617
 */
export function basic(): Family {
  const credentials = (settings: VerifierSettings): string[] => {
    const username = textOf(settings, "username")
    if (username.includes(":"))
      throw new WrongSetting("username", "has a colon, which RFC 7617 does not allow")
    return listOf(settings, "password").map((password) => `${username}:${password}`)
  }
  return {
    family: "basic",
    requires: [["username", "password"]],
    optional: [],
    secretForm: undefined,
    toleranceMs: undefined,
    signsUrl: false,
    covers: () => NOTHING,
    verifier: (settings) => presentedVerifier(readBasic, credentials(settings).map(secretTest)),
    signer: (settings) => ({
      sign({ method, url, headers: given, body }) {
        const headers = new Headers(given)
        headers.set("Authorization", `Basic ${Buffer.from(credentials(settings)[0]!).toString("base64")}`)
        return { method, url, headers, body }
      },
    }),
  }
}

const VERIFIED = new Verified()
const NOTHING: Coverage = { body: "none", time: false, id: false }

function presentedVerifier(
  read: (request: SignedRequest) => string | Refused,
  tests: readonly ((presented: string) => boolean)[],
): Verifier {
  const judge = (presented: string | Refused): Verified | Refused => {
    if (presented instanceof Refused) return presented
    // every one is tried, so that the time does not tell which one matched
    let matched = false
    for (const test of tests) matched = test(presented) || matched
    return matched ? VERIFIED : new Refused("no_match", "what was presented is not the secret")
  }
  return {
    needs: "headers",
    signsUrl: false,
    toleranceMs: 0,
    verify: (request) => judge(read(request)),
    explain(request) {
      const presented = read(request)
      const received = presented instanceof Refused ? [] : [presented]
      return { ...NOTHING_READ, verdict: judge(presented), received, toleranceMs: 0 }
    },
  }
}

function readToken({ headers, query }: SignedRequest, place: TokenPlace): string | Refused {
  if ("query" in place) {
    const values = new URLSearchParams(query).getAll(place.query).filter((value) => value !== "")
    if (values.length === 0) return new Refused("missing_header", `no parameter ${place.query} in the query`)
    return values.length === 1 ? values[0]! : new Refused("malformed", `${place.query} is there twice`)
  }
  const value = headers.get(place.header)
  if (value === null || value === "") return new Refused("missing_header", `no ${place.header}`)
  const { prefix } = place
  if (prefix === undefined || prefix === "") return value
  return value.length > prefix.length && value.toLowerCase().startsWith(prefix.toLowerCase())
    ? value.slice(prefix.length)
    : new Refused("malformed", `${place.header} does not begin with ${prefix.trim()}`)
}

function readBasic({ headers }: SignedRequest): string | Refused {
  const value = headers.get("Authorization")
  if (value === null || value === "") return new Refused("missing_header", "no Authorization")
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1]
  if (encoded === undefined) return new Refused("malformed", "Authorization is not Basic and base64")
  return Buffer.from(encoded, "base64").toString()
}
