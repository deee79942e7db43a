import { atOnce } from "../../clock/slices.ts"
import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import { nearest, suggest } from "../../config/file/nearest.ts"
import type { Values } from "../../config/options/option.ts"
import { resolveSection } from "../../config/options/resolve.ts"
import { ADMIN } from "../../config/sections/admin.ts"
import { FORWARD } from "../../config/sections/forward.ts"
import { RECONCILE } from "../../config/sections/reconcile.ts"
import { components } from "../../components/registry.ts"
import { HooklineError } from "../../errors.ts"
import {
  connectionIds,
  plannedReconcile,
  resolveConnectionOf,
  resolveDefaults,
  type Draft,
  type PlannedForward,
  type PlannedPipeline,
  type PlannedReconcile,
} from "./plan.ts"
import type { Connection } from "../../brokers/define-connection.ts"
import { planOnly } from "./plan-only.ts"
import { checkForward } from "./forwards.ts"
import { checkReconcile } from "./reconciles.ts"
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
  const declared = configuration.pipelines.get(id)
  const ids = [...configuration.pipelines.keys()]
  if (declared === undefined)
    throw new HooklineError(
      "usage",
      `${configuration.file} has no pipeline ${id}${suggest(id, ids, (it) => it) || `; it has ${ids.join(", ") || "none"}`}`,
    )
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
    const defined = resolveProviders(alone, problems)
    const around = { baseDir, defined }
    const fileDefaults = resolveDefaults(draft, defined, problems)
    const [pipeline] = atOnce(resolvePipelines({ ...draft, pipelines: [], around, fileDefaults, problems }))
    return pipeline as unknown as PlannedPipeline
  })
}

/** The sections without those of components that modules define, which commands for one part do without. */
function withoutOwn<T>(sections: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  const names = components.flatMap(({ title, aliases }) => [title, ...aliases])
  return new Map(
    [...sections].filter(([name]) => name === "connection" || nearest(name, names) !== undefined),
  )
}

/** A `[reconcile:<id>]` section with its pipeline. @throws HooklineError `usage` for an unknown id, `config` */
export function planReconcile(configuration: ConfigurationFile, id: string): PlannedReconcile {
  const { reconciles, file, baseDir } = configuration
  const section = reconciles.get(id)
  if (section === undefined) {
    const ids = [...reconciles.keys()]
    const those = suggest(id, ids, (it) => it) || `; it has ${ids.join(", ") || "none"}`
    throw new HooklineError("usage", `${file} has no section [reconcile:${id}]${those}`)
  }
  const name = section.texts.get("pipeline")?.value.text
  const pipeline = name === undefined ? undefined : planPipeline(configuration, name)
  const concerns = (kind: string, of: string | undefined): boolean => kind === "reconcile" && of === id
  return planOnly(configuration, concerns, (problems) => {
    const found = { address: `reconcile:${id}`, section, inCode: undefined, baseDir }
    const resolved = resolveSection(RECONCILE, found, problems)
    if (pipeline === undefined) return undefined as never
    checkReconcile(resolved, pipeline.processors)
    return plannedReconcile(id, resolved.values as PlannedReconcile["values"], [pipeline])
  })
}

/** A `[forward:<id>]` section. @throws HooklineError `config` */
export function planForward(configuration: ConfigurationFile, id: string): PlannedForward {
  const { forwards, baseDir } = configuration
  const concerns = (kind: string, of: string | undefined): boolean => kind === "forward" && of === id
  return planOnly(configuration, concerns, (problems) => {
    const found = { address: `forward:${id}`, section: forwards.get(id), inCode: undefined, baseDir }
    const resolved = resolveSection(FORWARD, found, problems)
    checkForward(resolved)
    return { id, values: resolved.values as PlannedForward["values"] }
  })
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
export function planAdmin(configuration: ConfigurationFile): Values<(typeof ADMIN)["options"]> {
  const { admin: section, baseDir } = configuration
  return planOnly(
    configuration,
    (kind) => kind === "admin",
    (problems) => {
      const found = { address: "admin", section, inCode: undefined, baseDir }
      return resolveSection(ADMIN, found, problems).values as Values<(typeof ADMIN)["options"]>
    },
  )
}

/** One connection of a draft; undefined: unknown id. @throws HooklineError `config` */
export function planConnection(draft: Draft, id: string): Connection | undefined {
  if (!connectionIds(draft).includes(id)) return undefined
  const concerns = (kind: string, name: string | undefined): boolean => kind === "connection" && name === id
  return planOnly(
    draft.configuration,
    concerns,
    (problems) => resolveConnectionOf(draft, id, problems) as unknown as Connection,
  )
}
