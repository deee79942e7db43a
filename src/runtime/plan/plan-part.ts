import { atOnce } from "../../clock/slices.ts"
import type { ConfigurationFile, FileSection } from "../../config/file/configuration-file.ts"
import { nearest, suggest } from "../../words.ts"
import type { Section } from "../../config/declarations.ts"
import type { OptionSet, Values } from "../../config/options/option-types.ts"
import { resolveSection, type Resolved } from "../../config/options/resolve.ts"
import { ADMIN } from "../../config/sections.ts"
import { FORWARD } from "../../config/sections/forward.ts"
import { components } from "../../components/registry.ts"
import { HooklineError } from "../../errors.ts"
import type { Extension } from "../../extensions/define-extension.ts"
import {
  connectionIds,
  resolveConnectionOf,
  resolveDefaults,
  type Draft,
  type PlannedForward,
  type PlannedPipeline,
} from "./plan.ts"
import type { Connection } from "../../brokers/define-connection.ts"
import { plannedConnection } from "./planned-parts.ts"
import { planOnly } from "./plan-only.ts"
import { checkForward } from "./forwards.ts"
import { resolveProviders } from "./providers.ts"
import { resolvePipelines } from "./resolve-pipelines.ts"

/*
 * One part of a configuration, for commands that need no more: other sections may be wrong, and their secrets missing.
 */

/**
 * The pipeline of an id.
 *
 * @throws HooklineError `usage` for an unknown id, `config`
 */
export function planPipeline(configuration: ConfigurationFile, id: string): PlannedPipeline {
  const declared = ofId(id, configuration.pipelines, `${configuration.file} has no pipeline ${id}`)
  const { baseDir } = configuration
  const alone = {
    ...configuration,
    defaults: withoutOwn(configuration.defaults),
    pipelines: new Map([[id, { ...declared, components: withoutOwn(declared.components) }]]),
  }
  const draft = { configuration: alone, registry: components, cwd: baseDir }
  const concerns = (kind: string, name: string | undefined): boolean =>
    kind === "pipeline" ? name === id : kind === "provider" || kind === "defaults"
  return planOnly(configuration, concerns, (problems) => {
    const defined = atOnce(resolveProviders(alone, problems))
    const around = { baseDir, defined }
    const fileDefaults = resolveDefaults(draft, defined, problems)
    const [pipeline] = atOnce(resolvePipelines({ ...draft, pipelines: [], around, fileDefaults, problems }))
    const { source, sink, ...rest } = pipeline!
    return { ...rest, source: source!, sink: sink! }
  })
}

/** @throws HooklineError `usage` for an unknown id */
function ofId<T>(id: string, sections: ReadonlyMap<string, T>, unknown: string): T {
  const found = sections.get(id)
  if (found !== undefined) return found
  const ids = [...sections.keys()]
  const those = suggest(id, ids, (it) => it) || `; it has ${ids.join(", ") || "none"}`
  throw new HooklineError("usage", unknown + those)
}

/** The values of one section. @throws HooklineError `config` */
function planSection<O extends OptionSet>(
  configuration: ConfigurationFile,
  section: FileSection | undefined,
  [kind, id]: readonly [kind: string, id?: string],
  declared: Section<O>,
  check?: (resolved: Resolved<O>) => void,
): Values<O> {
  const concerns = (of: string, name: string | undefined): boolean => of === kind && name === id
  return planOnly(configuration, concerns, (problems) => {
    const address = id === undefined ? kind : `${kind}:${id}`
    const found = { address, section, inCode: undefined, baseDir: configuration.baseDir }
    const resolved = resolveSection(declared, found, problems)
    check?.(resolved)
    return resolved.values as Values<O>
  })
}

/** The sections without those of components that modules define, which commands for one part do without. */
function withoutOwn<T>(sections: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  const names = components.flatMap(({ title, aliases }) => [title, ...aliases])
  return new Map(
    [...sections].filter(([name]) => name === "connection" || nearest(name, names) !== undefined),
  )
}

/** One section of an extension, planned with the pipeline that it names. @throws HooklineError `usage` for an unknown id, `config` */
export function planExtensionSection(
  configuration: ConfigurationFile,
  { name, sections: declared, plan }: Extension,
  id: string,
): unknown {
  const { sections, file } = configuration
  const { section: kind, pipeline: key, check } = declared!
  const section = ofId(id, sections.get(name)!, `${file} has no section [${name}:${id}]`)
  const named = section.texts.get(key)?.value.text
  const pipeline = named === undefined ? undefined : planPipeline(configuration, named)
  const values = planSection(configuration, section, [name, id], kind, (resolved) => {
    if (pipeline !== undefined) check(resolved, pipeline.processors)
  })
  return plan({ sections: [{ id, values }], pipelines: [pipeline!] })[0]
}

/** A `[forward:<id>]` section. @throws HooklineError `config` */
export function planForward(configuration: ConfigurationFile, id: string): PlannedForward {
  const section = configuration.forwards.get(id)
  return { id, values: planSection(configuration, section, ["forward", id], FORWARD, checkForward) }
}

/** Where the records and the position of a `[forward:<id>]` section are: without its secrets. @throws HooklineError `config` */
export function placeOfForward(
  configuration: ConfigurationFile,
  id: string,
): Pick<PlannedForward["values"], "from" | "directory"> {
  const { title, aliases, summary } = FORWARD
  const { from, directory } = FORWARD.options
  const options = { from, directory }
  const { forwards, baseDir } = configuration
  const whole = forwards.get(id)!
  const texts = new Map([...whole.texts].filter(([key]) => Object.hasOwn(options, key)))
  return planOnly(
    configuration,
    () => false,
    (problems) => {
      const found = { address: `forward:${id}`, section: { ...whole, texts }, inCode: undefined, baseDir }
      const { values } = resolveSection({ title, aliases, summary, options }, found, problems)
      return values as Pick<PlannedForward["values"], "from" | "directory">
    },
  )
}

/** The section `[admin]`, or its defaults. @throws HooklineError `config` */
export const planAdmin = (configuration: ConfigurationFile): Values<(typeof ADMIN)["options"]> =>
  planSection(configuration, configuration.admin, ["admin"], ADMIN)

/** One connection of a draft. @throws HooklineError `usage` for an unknown id, `config` */
export function planConnection(draft: Draft, id: string): Connection {
  if (!connectionIds(draft).includes(id))
    throw new HooklineError("usage", `unknown connection ${JSON.stringify(id)}`)
  const concerns = (kind: string, name: string | undefined): boolean => kind === "connection" && name === id
  return planOnly(draft.configuration, concerns, (problems) =>
    plannedConnection(resolveConnectionOf(draft, id, problems)),
  )
}
