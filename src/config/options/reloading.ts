import { readRegularFile } from "../../process/regular-file.ts"
import type { OptionSet, OptionValues, Reload } from "./option.ts"
import { inputsOf } from "./resolve.ts"
import type { Section } from "./section.ts"

/** The keys of a section whose values a reload treats so. */
export const keysBy = (reload: Reload, { options }: { readonly options: OptionSet }): string[] =>
  Object.keys(options).filter((key) => options[key]!.reload === reload)

/** What decides whether an open instance is kept: the `reopen` options and the contents of the files that they name. */
export function reopenConfig(section: Pick<Section, "options">, values: OptionValues): unknown {
  const own = Object.fromEntries(keysBy("reopen", section).map((key) => [key, values[key]]))
  return [own, fingerprints(section, own)]
}

/** The files that a section's options name to be read, each with a fingerprint of its contents. */
export const fingerprints = (
  section: Pick<Section, "options">,
  values: OptionValues,
): readonly (readonly [file: string, print: string])[] =>
  inputsOf(section, values).map((file) => [file, fingerprint(file)])

function fingerprint(file: string): string {
  try {
    return String(Bun.hash(readRegularFile(file)))
  } catch {
    // the reader of the content reports why
    return "unreadable"
  }
}
