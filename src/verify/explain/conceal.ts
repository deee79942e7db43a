import { Buffer } from "node:buffer"
import { maskedUrl, outlineOfQuery } from "../../outgoing/shown-url.ts"
import type { VerifierSettings } from "../schemes/family.ts"
import { literally } from "../schemes/mac.ts"
import type { Explanation, SignedRequest } from "../verifier.ts"
import { maskQuery } from "./mask-form.ts"
import { digestsIn } from "./signatures.ts"

/** Removes secrets from a text before it is shown. */
export type Conceal = (text: string) => string

/** Replaces the secrets and passwords of settings, raw and as encoded in requests. */
export function concealer({
  secret = [],
  username = "",
  password = [],
  client_secret: client = "",
}: VerifierSettings): Conceal {
  const spelled = [...secret, ...password, client]
    .flatMap((it) => [it, it.trim(), encodeURIComponent(it), it.replace(/^Bearer +/i, "")])
    .concat(password.map((it) => Buffer.from(`${username}:${it}`).toString("base64")))
  const any = anyOf(spelled)
  return any === undefined ? (text) => text : (text) => text.replace(any, "[secret]")
}

/**
 * The URL of a request without user information, nor what has the name or form of a credential in its query. A query that is
 * not the request's own is of `public_url`, a setting, of which no value is shown.
 *
 * @param inner masks the text of a parameter
 */
export function shownUrlOf(
  { url, query }: Pick<SignedRequest, "url" | "query">,
  inner?: (text: string) => string,
): string {
  return maskedUrl(url, (it) => (it === query ? maskQuery(it, inner) : outlineOfQuery(it)))
}

/** Hides user information and what may be secret in the query of a request's URL, also where a signed text spells it otherwise. */
export function urlConcealer(request: Pick<SignedRequest, "url" | "query">): Conceal {
  const { url } = request
  const [whole, shown] = [url.split("?"), shownUrlOf(request).split("?")]
  const [, userinfo = ""] = /:\/\/([^/?#]*@)/.exec(url) ?? []
  const query = whole.slice(1).join("?")
  const shownQuery = shown.slice(1).join("?")
  return (text) => {
    const anonymous = userinfo === "" ? text : text.replaceAll(`://${userinfo}`, "://…@")
    return query === shownQuery ? anonymous : anonymous.replaceAll(`?${query}`, () => `?${shownQuery}`)
  }
}

/** Shortens the signatures of a request, and those expected: who sees one of these could send the request. */
export function masker({ received, expected }: Explanation, headers: Headers): Conceal {
  const runs = [...received, ...expected].flatMap((it) => it.match(/[A-Za-z0-9+/_-]{27,}={0,2}/g) ?? [])
  const digests = [...headers.values()].flatMap((value) =>
    digestsIn(value).map(({ start, end }) => value.slice(start, end)),
  )
  const any = anyOf([...runs, ...digests])
  return any === undefined ? (text) => text : (text) => text.replace(any, (it) => `${it.slice(0, 6)}…`)
}

/** Matches in one pass, the longest first, so that replacements are not searched again; undefined: there are none. */
function anyOf(texts: readonly string[]): RegExp | undefined {
  const spelled = texts.filter((it) => it !== "").toSorted((a, b) => b.length - a.length)
  return spelled.length === 0 ? undefined : new RegExp(spelled.map(literally).join("|"), "g")
}
