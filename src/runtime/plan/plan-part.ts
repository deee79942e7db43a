import { atOnce } from "../../clock/slices.ts"
import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import { suggest } from "../../config/file/nearest.ts"
import { Problems, type Problem } from "../../config/file/problems.ts"
import type { Values } from "../../config/options/option.ts"
import { resolveSection, type Found } from "../../config/options/resolve.ts"
import { ADMIN } from "../../config/sections/admin.ts"
import { components } from "../../components/registry.ts"
import { HooklineError } from "../../errors.ts"
import { resolveDefaults, type PlannedPipeline } from "./plan.ts"
import { resolveProviders } from "./providers.ts"
import { resolvePipelines } from "./resolve-pipelines.ts"

// One part of a file, for commands that need no more: other sections may be wrong, and their secrets missing.

/**
 * The pipeline of an id.
 *
 * @throws HooklineError `usage` for an unknown id, `config`
 */
export function planPipeline(configuration: ConfigurationFile, id: string): PlannedPipeline {
  const declared = configuration.pipelines.get(id)
  const ids = [...configuration.pipelines.keys()]
  if (declared === undefined)
    throw new HooklineError(
      "usage",
      `${configuration.file} has no pipeline ${id}${suggest(id, ids, (it) => it) || `; it has ${ids.join(", ") || "none"}`}`,
    )
  const problems = problemsOf(configuration, ([kind, name]) =>
    kind === "pipeline" ? name === id : kind === "provider" || kind === "defaults",
  )
  const { baseDir } = configuration
  const alone = { ...configuration, pipelines: new Map([[id, declared]]) }
  const draft = { configuration: alone, registry: components, cwd: baseDir }
  const defined = resolveProviders(alone, problems)
  const reading = {
    ...draft,
    pipelines: [],
    find: (address: string, section: Found["section"], inCode: Found["inCode"]): Found => ({
      address,
      section,
      inCode,
      baseDir,
      defined,
    }),
    fileDefaults: resolveDefaults(draft, defined, problems),
    problems,
  }
  const [pipeline] = atOnce(resolvePipelines(reading))
  problems.throwIfAny()
  // without problems all values are set
  return pipeline as unknown as PlannedPipeline
}

/** The section `[admin]`, or its defaults. @throws HooklineError `config` */
export function planAdmin(configuration: ConfigurationFile): Values<(typeof ADMIN)["options"]> {
  const problems = problemsOf(configuration, ([kind]) => kind === "admin")
  const { admin: section, baseDir } = configuration
  const { values } = resolveSection(
    ADMIN,
    { address: "admin", section, inCode: undefined, baseDir },
    problems,
  )
  problems.throwIfAny()
  return values as Values<(typeof ADMIN)["options"]>
}

/** What was found in reading the sections of some addresses, and the file as a whole. */
function problemsOf(
  { file, problems }: ConfigurationFile,
  concerns: (address: readonly string[]) => boolean,
): Problems {
  const isKnown = ({ section }: Problem): boolean =>
    section === undefined || concerns(section.split(":").map((it) => it.trim()))
  return new Problems(file, { problems: problems.filter(isKnown) })
}
