/* Which names are those of credentials and signatures, and what is shown of their values. */

/** The end of a name whose value is a credential, in words joined by hyphens. */
const CREDENTIAL =
  /(?:(?<!idempotency-)tokens?|secrets?|passwords?|passwd|passphrases?|passcode|credentials?|authori[sz]ation|authentication|cookies?2?|jwts?)$|(?:^|-)(?:auth|pwd|pass|pin|otp|bearer|session|session-?ids?)$|(?:api|app|application|access|private|secret|subscription|functions?|master|auth|sas|shared|account|client|webhook|signing|encryption|session|consumer|security|service)-?keys?$/
const SIGNATURE = /(?:signatures?|hmacs?|digests?)(?:-?(?:v?\d+|ed-?25519))?$|(?:^|-)(?:sig|sign)$/
/** In headers and queries also: elsewhere these name other things. */
const SHORT = /^(?:key|code)$/

/** A name as words: `clientSecret`, `client_secret` and `Client-Secret` are one. */
const wordsOf = (name: string): string =>
  name
    .slice(0, MAX_NAME)
    .replace(/(?<=[a-z\d])(?=[A-Z])|[^A-Za-z\d]+/g, "-")
    .replace(/^-|-$/g, "")
    .toLowerCase()
const MAX_NAME = 200

export const isTokenName = (name: string): boolean =>
  CREDENTIAL.test(wordsOf(name)) || SHORT.test(name.toLowerCase())
export const isSignatureName = (name: string): boolean => SIGNATURE.test(wordsOf(name))
export const isSecretName = (name: string): boolean => {
  const words = wordsOf(name)
  return CREDENTIAL.test(words) || SIGNATURE.test(words)
}
/** Whether a field of a form is a secret's: `user[password]`, `tokens[]`, `a.b`. */
export const isSecretPath = (name: string): boolean => name.split(/[[\].]+/).some(isSecretName)

/** What is shown in place of a value; the same again for what is hidden already. */
export const hidden = (value: string): string =>
  /^\(\d+ characters\)$/.test(value) ? value : `(${value.length} characters)`

/** In queries shorter names are a credential's, too. */
export const isQueryName = (name: string): boolean => isSecretPath(name) || SHORT.test(name.toLowerCase())
