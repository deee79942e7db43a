import type { VerifierSettings } from "../verify/family.ts"

/** Takes secrets out of a text that is to be shown. */
export type Conceal = (text: string) => string

/** Replaces the secrets and passwords of settings, as they are and as requests carry them. */
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
  // In one pass, the longest first: what stands for one secret is not searched for another.
  const any = new RegExp(spelled.map((it) => RegExp.escape(it)).join("|"), "g")
  return (text) => text.replace(any, "[secret]")
}
