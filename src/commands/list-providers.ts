import { messageInFile } from "../message.ts"
import {
  describeRequired,
  findFamily,
  keysOf,
  nameOf,
  type OwnProvider,
  PROVIDER_NAMES,
  type ProviderRef,
  usualCoverage,
} from "../verify/verification.ts"
import { presetOf } from "../verify/senders.ts"
import { printTable } from "./table.ts"

/** Prints the providers and generic kinds: a table, or with `json` everything known of them as one list. */
export function listProviders(own: readonly OwnProvider[], json: boolean): void {
  const providers = [...PROVIDER_NAMES, ...own]
  if (json) return console.log(JSON.stringify(providers.map(describe), null, 2))
  const rows = providers.map((provider) => {
    const family = findFamily(provider)!
    const preset = presetOf(provider)
    const docs = preset === undefined ? "generic: docs/providers.md" : (preset.docs ?? "")
    return [nameOf(provider), family.family, messageInFile(describeRequired(family)), docs]
  })
  printTable([["NAME", "SCHEME", "NEEDS", "DOCUMENTATION"], ...rows], [0, 1, 2, 3])
}

/** Members that do not apply are absent. */
function describe(provider: ProviderRef): object {
  const family = findFamily(provider)!
  return {
    name: nameOf(provider),
    ...presetOf(provider),
    sample: undefined,
    scheme: family.family,
    requires: family.requires,
    may_have: keysOf(family).filter((key) => !family.requires.flat().includes(key)),
    tolerance_ms: family.toleranceMs,
    signs: usualCoverage(family),
    signs_url: family.signsUrl === true,
    can_send: family.signer !== undefined,
  }
}
