import { placeOf, type FileSection } from "../../config/file/configuration-file.ts"
import type { Problems } from "../../config/file/problems.ts"
import type { OptionSet } from "../../config/options/option.ts"
import { resolveSection, type Found, type Resolved } from "../../config/options/resolve.ts"
import type { Section } from "../../config/options/section.ts"

const ID = /^\w[\w.-]{0,99}$/

/** Reads the sections of a kind that have ids, which are names of files, too. */
export function resolveNamed<O extends OptionSet>(
  kind: string,
  declared: Section<O>,
  sections: ReadonlyMap<string, FileSection> = new Map(),
  find: (address: string, section: FileSection) => Found,
  problems: Problems,
): ReadonlyMap<string, Resolved<O>> {
  return new Map(
    [...sections].map(([id, section]) => {
      if (!ID.test(id))
        problems.add(placeOf(section), 'its id may have letters, digits, "_", "-" and ".", up to 100')
      return [id, resolveSection(declared, find(`${kind}:${id}`, section), problems)] as const
    }),
  )
}
