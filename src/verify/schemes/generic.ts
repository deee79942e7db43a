import { toHeaderValue } from "../../headers.ts"
import { textOf, WrongSetting, type Family, type VerifierSettings } from "./family.ts"
import { hmac } from "./hmac.ts"
import type { AsymmetricForm, HmacForm } from "./hmac-form.ts"
import { ASYMMETRIC, SYMMETRIC } from "./jwt-form.ts"
import { ecdsaSignature, ed25519Signature, jwt } from "./key-schemes.ts"
import { basic, token } from "./token.ts"

/** Configurable schemes for senders without a preset. */
export const GENERIC: { readonly [kind: string]: Family } = {
  hmac: {
    ...hmac(
      {
        header: "X-Signature",
        encoding: "hex",
        toleranceMs: 300_000,
        optional: ["algorithm", "encoding", "prefix", "payload", "timestamp_header", "id_header"],
      },
      (settings) => ({ ...layout(settings), encoding: settings.encoding ?? "hex" }) satisfies HmacForm,
    ),
    requires: [["secret", "header"]],
    signsUrl: true,
  },
  token: token(
    (settings) =>
      settings.query === undefined
        ? { header: textOf(settings, "header"), prefix: settings.prefix }
        : { query: settings.query },
    {
      requires: [
        ["secret", "header"],
        ["secret", "query"],
      ],
      optional: ["prefix"],
    },
  ),
  basic: basic(),
  jwt: jwt({
    algorithms: [...SYMMETRIC, ...ASYMMETRIC],
    toleranceMs: 60_000,
    requires: [["jwks_url"], ["public_key"], ["secret"]],
    optional: ["issuer", "audience", "email", "require_exp"],
    requiresExp: true,
  }),
  ed25519: publicKeyKind(ed25519Signature),
  ecdsa: publicKeyKind(ecdsaSignature),
}

function publicKeyKind(make: typeof ed25519Signature): Family {
  const family = make(
    {
      header: "X-Signature",
      encoding: "hex",
      toleranceMs: 300_000,
      optional: ["encoding", "prefix", "payload", "timestamp_header", "id_header"],
    },
    (settings: VerifierSettings): AsymmetricForm => {
      const { encoding = "hex" } = settings
      if (encoding === "base64url") throw new WrongSetting("encoding", "is neither hex nor base64")
      return { ...layout(settings), encoding }
    },
  )
  return { ...family, requires: [["public_key", "header"]], signsUrl: true }
}

/** The layout by settings; `payload` and the headers of time and id must agree. */
function layout(
  settings: VerifierSettings,
): Pick<HmacForm, "header" | "algorithm" | "prefix" | "payload" | "time" | "id"> {
  const { payload = "{body}", timestamp_header, id_header } = settings
  const has = (placeholder: string): boolean => payload.includes(placeholder)
  if (has("{timestamp}") !== (timestamp_header !== undefined))
    throw new WrongSetting(
      "timestamp_header",
      "and {timestamp} in payload belong together: an unsigned time proves nothing",
    )
  if (has("{id}") !== (id_header !== undefined))
    throw new WrongSetting("id_header", "and {id} in payload belong together: an unsigned id proves nothing")
  return {
    header: textOf(settings, "header"),
    algorithm: settings.algorithm,
    prefix: settings.prefix && toHeaderValue(settings.prefix),
    payload,
    time: timestamp_header === undefined ? undefined : { header: timestamp_header, unit: "any" },
    id: id_header,
  }
}
