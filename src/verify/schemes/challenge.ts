import { Buffer } from "node:buffer"
import type { Signed } from "./signature-verifier.ts"

/*
 * Challenges of providers whose endpoints prove that they know the secret by signing what they are sent, with the key that
 * signs events. Whoever may ask for the signature of a text has it for an event of that text, so the two must never be the
 * same: only texts of this form are signed, and none of this form is an event (`signsChallenges` of HmacForm).
 */

const MOST_CHARACTERS = 512
const CHALLENGE = new RegExp(`^[A-Za-z0-9+/=_-]{1,${MOST_CHARACTERS}}$`)

/** Whether a text has the form of a challenge. No JSON object, list or string has it. */
export const isChallenge = (text: unknown): text is string => typeof text === "string" && CHALLENGE.test(text)

/** Whether what was signed could be a challenge. */
export function couldBeChallenge(signed: Signed): boolean {
  let length = 0
  for (const piece of signed) length += piece.length
  if (length > MOST_CHARACTERS) return false
  return isChallenge(signed.map((it) => (typeof it === "string" ? it : Buffer.from(it).toString())).join(""))
}
