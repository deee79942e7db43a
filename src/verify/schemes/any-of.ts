import { message } from "../../message.ts"
import { describeRequired, WrongSetting, type Family, type VerifierSettings } from "./family.ts"

/** A provider with several schemes: the first whose required keys are set applies. */
export function anyOf(...families: readonly Family[]): Family {
  const chosen = (settings: VerifierSettings): Family => {
    const family = families.find(({ requires }) =>
      requires.some((keys) => keys.every((key) => settings[key] !== undefined)),
    )
    if (family !== undefined) return family
    throw new WrongSetting(
      "provider",
      message`requires ${describeRequired({ requires: families.flatMap(({ requires }) => requires) })}`,
    )
  }
  return {
    family: families.map(({ family }) => family).join(" or "),
    requires: families.flatMap(({ requires }) => requires),
    optional: [...new Set(families.flatMap(({ optional = [] }) => optional))],
    secretForm: families.find(({ secretForm }) => secretForm !== undefined)?.secretForm,
    toleranceMs: families.find(({ toleranceMs }) => toleranceMs !== undefined)?.toleranceMs,
    signsUrl: families.some(({ signsUrl }) => signsUrl === true),
    keyBytes: (settings) => chosen(settings).keyBytes?.(settings),
    covers: (settings) => chosen(settings).covers(settings),
    verifier: (settings, fetcher) => chosen(settings).verifier(settings, fetcher),
    signer: (settings) => {
      const { signer } = chosen(settings)
      if (signer === undefined)
        throw new WrongSetting("provider", "can't be signed for: only the provider has the key")
      return signer(settings)
    },
  }
}
