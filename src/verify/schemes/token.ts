// Hot path: every event of a verified pipeline passes here.
import { Buffer } from "node:buffer"
import { headerText, toHeaderValue } from "../../headers.ts"
import { secretTest } from "../crypto.ts"
import { credentialVerifier } from "./credential.ts"
import {
  listOf,
  textOf,
  WrongSetting,
  type Coverage,
  type Family,
  type SettingKey,
  type VerifierSettings,
} from "./family.ts"
import { readMember, withMember } from "./json-body.ts"
import { readParameter, withQuery } from "./query.ts"
import { withHeaders } from "./sendable.ts"
import { Refused, Verified, type SignedRequest, type Verifier } from "../verifier.ts"

/** A header, with a prefix such as `Bearer ` in any case, a query parameter, or a top-level member of the JSON body. */
export type TokenLocation =
  | { readonly header: string; readonly prefix?: string | undefined }
  | { readonly query: string }
  | { readonly member: string }

/** A secret that is sent as it is, which proves nothing about the body. */
export function token(
  locationOf: (settings: VerifierSettings) => TokenLocation,
  { requires = [["secret"]], optional }: Partial<Pick<Family, "requires" | "optional">> = {},
): Family {
  return {
    family: "token",
    requires,
    optional,
    secretForm: "the token as it is sent",
    covers(settings) {
      const location = locationOf(settings)
      const header = "header" in location ? location.header.toLowerCase() : undefined
      return { ...NOTHING, credential: { ...location, header } }
    },
    verifier(settings) {
      const location = locationOf(settings)
      const needs = "member" in location ? "body" : "headers"
      return secretVerifier((request) => readToken(request, location), listOf(settings, "secret"), needs)
    },
    signer(settings) {
      const location = locationOf(settings)
      const [secret = ""] = listOf(settings, "secret")
      return {
        sign(request) {
          if ("header" in location)
            return withHeaders(request, {
              [location.header]: toHeaderValue((location.prefix ?? "") + secret),
            })
          if ("member" in location)
            return withHeaders({ ...request, body: withMember(request.body, location.member, secret) }, {})
          return withHeaders({ ...request, url: withQuery(request.url, location.query, secret) }, {})
        },
      }
    },
  }
}

/** A token in a fixed location. */
export const tokenAt = (location: TokenLocation): Family => token(() => location)

/** A token in a header, or in the header or query parameter that settings name. */
export const tokenIn = (header: string, more?: { requires: readonly (readonly SettingKey[])[] }): Family =>
  token(
    (settings) => {
      if (settings.query === undefined) return { header: settings.header ?? header, prefix: settings.prefix }
      if (settings.header !== undefined)
        throw new WrongSetting("query", "conflicts with header; set one of them", "conflicting_keys")
      return { query: textOf(settings, "query") }
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
    covers: () => ({ ...NOTHING, credential: { header: "authorization" } }),
    verifier: (settings) => secretVerifier(readBasic, credentials(settings)),
    signer: (settings) => ({
      sign(request) {
        const encoded = Buffer.from(credentials(settings)[0]!).toString("base64")
        return withHeaders(request, { Authorization: `Basic ${encoded}` })
      },
    }),
  }
}

const VERIFIED = new Verified()
const NOTHING: Coverage = { body: "none", time: false, id: false }

function secretVerifier(
  read: (request: SignedRequest) => string | Refused,
  secrets: readonly string[],
  needs: Verifier["needs"] = "headers",
): Verifier {
  const tests = secrets.map(secretTest)
  return credentialVerifier({
    needs,
    isQuick: true,
    read,
    check(presented) {
      // tries every secret, so that timing does not reveal which one matched
      let matched = false
      for (const test of tests) matched = test(presented) || matched
      return matched ? VERIFIED : new Refused("no_match", "wrong token or password")
    },
    show: (presented) => ({ received: [presented] }),
  })
}

function readToken({ headers, query, body }: SignedRequest, location: TokenLocation): string | Refused {
  if ("query" in location) return readParameter(query, location.query)
  if ("member" in location)
    return (
      readMember(body, location.member) ?? new Refused("missing_header", `no ${location.member} in the body`)
    )
  const { header, prefix = "" } = location
  const value = headerText(headers.get(header) ?? "")
  if (value === "") return new Refused("missing_header", `no ${header}`)
  if (prefix === "") return value
  return value.length > prefix.length && value.toLowerCase().startsWith(prefix.toLowerCase())
    ? value.slice(prefix.length)
    : new Refused("malformed", `${header} does not start with ${prefix.trim()}`)
}

function readBasic({ headers }: SignedRequest): string | Refused {
  const value = headers.get("Authorization")
  if (value === null || value === "") return new Refused("missing_header", "no Authorization")
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1]
  if (encoded === undefined) return new Refused("malformed", "Authorization is not Basic credentials")
  return Buffer.from(encoded, "base64").toString()
}
