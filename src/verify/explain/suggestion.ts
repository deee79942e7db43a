import { findFamily, keysOf, nameOf, type ProviderRef } from "../presets/providers.ts"
import type { Mistake } from "./inquiry.ts"

/** Keys that a custom provider has in its section rather than in the Verifier's. */
const OWN_KEYS: readonly string[] = ["header", "algorithm", "encoding", "prefix"]
const SECRETS: readonly string[] = ["secret", "password"]

/**
 * The lines of the configuration file that would undo a mistake; undefined: none would.
 *
 * @param pipeline id; undefined: not known
 */
export function linesAgainst(
  { options = {} }: Mistake,
  provider: ProviderRef,
  pipeline = "<id>",
): string | undefined {
  const used = options.provider ?? provider
  const family = findFamily(used)
  const keys: readonly string[] = family === undefined ? [] : ["provider", ...keysOf(family)]
  const isOwn = typeof used !== "string"
  const sections = new Map<string, string[]>()
  for (const [key, value] of Object.entries(options)) {
    const section =
      key === "public_url"
        ? `pipeline:${pipeline}:WebHookSource`
        : keys.includes(key)
          ? `pipeline:${pipeline}:Verifier`
          : isOwn && OWN_KEYS.includes(key)
            ? `provider:${nameOf(used)}`
            : undefined
    if (section === undefined) continue
    const line = SECRETS.includes(key) ? `# ${key}: ${value}` : `${key} = ${value}`
    sections.set(section, [...(sections.get(section) ?? []), line])
  }
  if (sections.size === 0) return undefined
  return [...sections].map(([section, lines]) => [`[${section}]`, ...lines].join("\n")).join("\n\n")
}
