import { resolve } from "node:path"
import { atOnce, type Steps } from "../../clock/slices.ts"
import { answering } from "../../process/regular-file.ts"
import { placeOf, type ConfigurationFile } from "../../config/file/configuration-file.ts"
import type { Problems } from "../../config/file/problems.ts"
import { type OwnProvider, resolveProvider, wrongName } from "../../verify/verification.ts"
import { planOnly } from "./plan-only.ts"

/**
 * Reads the `[provider:<name>]` sections, by the sections' names, as options' texts look them up; undefined: a problem was
 * reported.
 *
 * @param reads called with the absolute path of each file that an option names
 */
export function* resolveProviders(
  configuration: ConfigurationFile | undefined,
  problems: Problems,
  reads?: (file: string) => void,
): Steps<ReadonlyMap<string, OwnProvider | undefined>> {
  const resolved = new Map<string, OwnProvider | undefined>()
  for (const [name, section] of configuration?.providers ?? []) {
    const address = `provider:${name}`
    // read while the section is resolved
    const sample = section.texts.get("sample_file")
    if (sample?.value.text) yield* answering([resolve(sample.baseDir, sample.value.text)])
    const wrong = wrongName(name)
    if (wrong !== undefined) problems.add(placeOf(section), wrong)
    const found = { address, section, inCode: undefined, baseDir: configuration!.baseDir, reads }
    const provider = resolveProvider(name, found, problems)
    resolved.set(address, wrong === undefined ? provider : undefined)
  }
  return resolved
}

/** The providers of a file. @throws HooklineError `config` */
export function planProviders(configuration: ConfigurationFile): readonly OwnProvider[] {
  return planOnly(
    configuration,
    (kind) => kind === "provider",
    (problems) => [...atOnce(resolveProviders(configuration, problems)).values()] as OwnProvider[],
  )
}
