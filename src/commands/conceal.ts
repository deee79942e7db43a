import type { VerifierSettings } from "../verify/schemes/family.ts"

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
    .filter((it) => it !== "")
    .toSorted((a, b) => b.length - a.length)
  if (spelled.length === 0) return (text) => text
  // in one pass, the longest first, so that replacements are not searched again
  const any = new RegExp(spelled.map((it) => RegExp.escape(it)).join("|"), "g")
  return (text) => text.replace(any, "[secret]")
}
