import type { Family } from "./family.ts"
import { hmac } from "./hmac.ts"
import type { HmacForm } from "./hmac-form.ts"
import { tokenAt, type TokenLocation } from "./token.ts"

/** A scheme as data: of the built-in presets and of custom providers. */
export type SchemeForm = { readonly hmac: HmacForm } | { readonly token: TokenLocation }

/** The family of a scheme, one for all who ask. @throws WrongSetting for a payload that is malformed */
export function toFamily(scheme: SchemeForm | Family): Family {
  let family = FAMILIES.get(scheme)
  if (family === undefined) FAMILIES.set(scheme, (family = familyOf(scheme)))
  return family
}

function familyOf(scheme: SchemeForm | Family): Family {
  if ("hmac" in scheme) return hmac(scheme.hmac)
  return "token" in scheme ? tokenAt(scheme.token) : scheme
}

const FAMILIES = new WeakMap<SchemeForm | Family, Family>()
