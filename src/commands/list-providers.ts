import { PRESETS } from "../verify/presets/presets.ts"
import {
  describeRequired,
  findFamily,
  keysOf,
  PROVIDER_NAMES,
  usualCoverage,
} from "../verify/presets/providers.ts"
import { printTable } from "./table.ts"

/** Prints the providers and generic kinds: a table, or with `json` everything known of them as one list. */
export function listProviders(json: boolean): void {
  if (json) return console.log(JSON.stringify(PROVIDER_NAMES.map(describe), null, 2))
  const rows = PROVIDER_NAMES.map((name) => {
    const family = findFamily(name)!
    return [
      name,
      family.family,
      describeRequired(family),
      PRESETS[name]?.docs ?? "generic: docs/providers.md",
    ]
  })
  printTable([["NAME", "SCHEME", "NEEDS", "DOCUMENTATION"], ...rows], [0, 1, 2, 3])
}

/** Members that do not apply are absent. */
function describe(name: string): object {
  const family = findFamily(name)!
  const { scheme: _, ...preset } = PRESETS[name] ?? { scheme: family }
  return {
    name,
    ...preset,
    scheme: family.family,
    requires: family.requires,
    may_have: keysOf(family).filter((key) => !family.requires.flat().includes(key)),
    tolerance_ms: family.toleranceMs,
    signs: usualCoverage(family),
    signs_url: family.signsUrl === true,
    can_send: family.signer !== undefined,
  }
}
