import type { Steps } from "../../clock/slices.ts"
import { isUnread } from "../../components/processor-facts.ts"
import { placeOf, type ConfigurationFile, type FileSection } from "../../config/file/configuration-file.ts"
import { suggest } from "../../words.ts"
import type { Problems } from "../../config/file/problems.ts"
import type { Section } from "../../config/declarations.ts"
import type { OptionSet, Values } from "../../config/options/option-types.ts"
import { resolveSection, type Resolved } from "../../config/options/resolve.ts"
import { FILE_NAME } from "../../process/file-name.ts"
import type { PipelineView } from "../../extensions/sections.ts"
import { extensions } from "../../extensions/registry.ts"
import type { PlannedExtension } from "./draft.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"
import type { Around } from "./resolve-pipelines.ts"

/*
 * The sections of extensions: read, checked with the pipelines that they name, and planned.
 */

/** Reads the sections of every extension. */
export const resolveSections = (
  configuration: ConfigurationFile | undefined,
  around: Around,
  problems: Problems,
): ResolvedDraft["sections"] =>
  new Map(
    extensions.flatMap(({ name, sections }) =>
      sections === undefined
        ? []
        : [[name, resolveNamed(name, sections.section, configuration?.sections.get(name), around, problems)]],
    ),
  )

/** Reads the sections of a kind that have ids, which are names of files, too. */
export function resolveNamed<O extends OptionSet>(
  kind: string,
  declared: Section<O>,
  sections: ReadonlyMap<string, FileSection> = new Map(),
  around: Around,
  problems: Problems,
): ReadonlyMap<string, Resolved<O>> {
  return new Map(
    [...sections].map(([id, section]) => {
      if (!FILE_NAME.pattern.test(id)) problems.add(placeOf(section), `its id may have ${FILE_NAME.form}`)
      const found = { ...around, address: `${kind}:${id}`, section, inCode: undefined }
      return [id, resolveSection(declared, found, problems)] as const
    }),
  )
}

/** Checks that each names a pipeline, and what its extension needs of that. */
export function* checkSections({ sections: all, pipelines }: ResolvedDraft): Steps<void> {
  for (const { name, sections } of extensions)
    for (const section of all.get(name)?.values() ?? []) {
      yield
      const id = section.values[sections!.pipeline]
      if (id === undefined) continue
      const pipeline = pipelines.find((it) => it.id === id)
      if (pipeline === undefined) {
        const names = suggest(
          String(id),
          pipelines.map((it) => it.id),
          (it) => JSON.stringify(it),
        )
        section.wrong(sections!.pipeline, `unknown pipeline ${JSON.stringify(id)}${names}`)
      } else if (!pipeline.processors.some(isUnread)) sections!.check(section, pipeline.processors)
    }
}

/** Asks every extension what it makes of a valid configuration. */
export const plannedExtensions = (
  { sections }: Pick<ResolvedDraft, "sections">,
  pipelines: readonly PipelineView[],
): ReadonlyMap<string, PlannedExtension> =>
  new Map(
    extensions.map(({ name, plan }) => {
      const own = Array.from(sections.get(name) ?? [], ([id, { values }]) => ({
        id,
        values: values as Values<OptionSet>,
      }))
      return [name, { sections: own, planned: plan({ sections: own, pipelines }) }]
    }),
  )
