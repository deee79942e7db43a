import type { VerifierSettings } from "../schemes/family.ts"
import { literally } from "../schemes/mac.ts"
import type { Explanation } from "../verifier.ts"
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
