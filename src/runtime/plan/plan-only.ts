import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import { Problems, type Problem } from "../../config/file/problems.ts"

/**
 * Resolves one part, of which no problem is left: all its values are set then.
 *
 * @param concerns whether the part has the section of a kind and a name; problems of the file as a whole always concern it
 * @throws HooklineError `config`
 */
export function planOnly<T>(
  configuration: ConfigurationFile | undefined,
  concerns: (kind: string, name: string | undefined) => boolean,
  resolve: (problems: Problems) => T,
): T {
  const isKnown = ({ section }: Problem): boolean => {
    const [kind = "", name] = section?.split(":").map((it) => it.trim()) ?? []
    return section === undefined || concerns(kind, name)
  }
  const problems = new Problems(configuration?.file, { problems: configuration?.problems.filter(isKnown) })
  const part = resolve(problems)
  problems.throwIfAny()
  return part
}
