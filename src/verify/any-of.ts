import { WrongSetting, type Family, type VerifierSettings } from "./family.ts"

/** A provider with several ways to authenticate: the first whose keys are all set is the one. */
export function anyOf(...families: readonly Family[]): Family {
  const chosen = (settings: VerifierSettings): Family => {
    const family = families.find(({ requires }) =>
      requires.some((keys) => keys.every((key) => settings[key] !== undefined)),
    )
    if (family !== undefined) return family
    const ways = families.flatMap(({ requires }) => requires.map((keys) => keys.join(" and ")))
    throw new WrongSetting("provider", `needs ${ways.join(", or ")}`)
  }
  return {
    family: families.map(({ family }) => family).join(" or "),
    requires: families.flatMap(({ requires }) => requires),
    optional: [...new Set(families.flatMap(({ optional }) => optional))],
    secretForm: families.find(({ secretForm }) => secretForm !== undefined)?.secretForm,
    toleranceMs: families.find(({ toleranceMs }) => toleranceMs !== undefined)?.toleranceMs,
    signsUrl: families.some(({ signsUrl }) => signsUrl),
    keyBytes: (settings) => chosen(settings).keyBytes?.(settings),
    covers: (settings) => chosen(settings).covers(settings),
    verifier: (settings, outside) => chosen(settings).verifier(settings, outside),
    signer: (settings) => {
      const { signer } = chosen(settings)
      if (signer === undefined) throw new WrongSetting("provider", "can't be signed for: only it has the key")
      return signer(settings)
    },
  }
}
