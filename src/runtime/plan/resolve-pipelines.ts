import type { Component, ComponentKind, Configured } from "../../components/define-component.ts"
import { isBuiltIn } from "../../components/registry.ts"
import { nearest, suggest } from "../../words.ts"
import type { OptionSet } from "../../config/options/option-types.ts"
import type { Problems } from "../../config/file/problems.ts"
import {
  resolveSection,
  type Found,
  type OptionsFromCode,
  type Resolved,
} from "../../config/options/resolve.ts"
import {
  placeFrom,
  placeOf,
  type ConfigurationFile,
  type FilePipeline,
  type FileSection,
} from "../../config/file/configuration-file.ts"
import type { Processor } from "../../pipeline/event.ts"
import type { Steps } from "../../clock/slices.ts"
import type { Pipeline } from "../pipeline.ts"
import type { PlannedPipeline } from "./draft.ts"
import { keyOfOthers } from "./key-owners.ts"

/** A pipeline whose options were read; missing ones, and their parts, are undefined. */
export interface ResolvedPipeline {
  readonly id: string
  readonly source: ResolvedPart<"source"> | undefined
  readonly processors: readonly (ResolvedPart<"processor"> | Processor)[]
  readonly sink: ResolvedPart<"sink"> | undefined
  /** Of one that has not changed. */
  readonly planned?: PlannedPipeline
}

export interface ResolvedPart<K extends ComponentKind = ComponentKind> extends Resolved<OptionSet> {
  readonly component: Component<K>
}

/** What all sections of a draft have in common. */
export type Around = Pick<Found, "baseDir" | "defined" | "reads">

interface Reading {
  readonly configuration: ConfigurationFile | undefined
  /** Those composed in code. */
  readonly pipelines: readonly Pipeline[]
  readonly registry: readonly Component[]
  readonly around: Around
  /** `[defaults:…]`, by component. */
  readonly fileDefaults: ReadonlyMap<Component, FileSection>
  readonly problems: Problems
  /** Whether there may be no pipeline, since records of topics are delivered. */
  readonly delivers?: boolean
  /** Pipelines of the file that need not be read, by id. */
  readonly unchanged?: ReadonlyMap<string, ResolvedPipeline>
}

/** The processors of every pipeline of the file, with or without a section. */
const ALWAYS = ["Validator", "Enricher"]

/** Reads the options of every component: pipelines of code, then those that only the file names. */
export function* resolvePipelines(reading: Reading): Steps<ResolvedPipeline[]> {
  const { configuration, pipelines: composed, problems, unchanged } = reading
  const inFile = configuration?.pipelines ?? new Map<string, FilePipeline>()
  const byId = Map.groupBy(composed, ({ id }) => id)
  for (const [id, { length }] of byId) {
    const text = "duplicate pipeline id; rename one of them"
    if (length > 1) problems.add({ line: "code", section: `pipeline:${id}` }, text)
  }
  const resolved: ResolvedPipeline[] = []
  for (const pipeline of composed) {
    resolved.push(fromCode(pipeline, inFile.get(pipeline.id), reading))
    yield
  }
  for (const [id, declared] of inFile) {
    if (byId.has(id)) continue
    resolved.push(unchanged?.get(id) ?? fromFile(id, declared, reading))
    yield
  }
  if (resolved.length === 0 && configuration?.lacksSections !== true && reading.delivers !== true) {
    problems.add(
      { line: undefined },
      configuration === undefined
        ? "no pipeline; add one by app.addPipeline(pipeline)"
        : "no pipeline; add [pipeline:webhooks:WebHookSource] and [pipeline:webhooks:BrokerSink]",
    )
  }
  return resolved
}

function fromCode(
  { id, source, processors, sink }: Pipeline,
  declared: FilePipeline | undefined,
  reading: Reading,
): ResolvedPipeline {
  const { registry, problems } = reading
  const configured = [source, ...processors.filter((processor) => typeof processor !== "function"), sink]
  const used = configured.map(({ component }) => component as Component)
  const { sections } = sectionsByComponent(
    declared?.components,
    [...new Set([...registry, ...used])],
    problems,
  )
  for (const [component, section] of sections) {
    if (used.includes(component)) continue
    problems.add(
      placeOf(section),
      "is not a component of this pipeline, which is composed in code; remove the section",
    )
  }
  const resolve = <K extends ComponentKind>(
    { component, given }: Configured<K>,
    defaults?: Defaults,
  ): ResolvedPart<K> => resolvePart(id, component, sections, given, reading, defaults)
  const implied: Implications = new Map()
  return {
    id,
    source: resolve(source),
    processors: processors.map((it) => {
      if (typeof it === "function") return it
      const part = resolve(it, implied.get(it.component.title))
      addImplied(part, implied)
      return part
    }),
    sink: resolve(sink),
  }
}

function fromFile(id: string, declared: FilePipeline, reading: Reading): ResolvedPipeline {
  const { registry, problems } = reading
  const { sections, hasUnknown } = sectionsByComponent(declared.components, registry, problems)
  const resolve = <K extends ComponentKind>(component: Component<K>, defaults?: Defaults): ResolvedPart<K> =>
    resolvePart(id, component, sections, undefined, reading, defaults)
  const end = <K extends ComponentKind>(kind: K): ResolvedPart<K> | undefined => {
    const candidates = ofKind(kind, registry)
    const component = candidates.find((candidate) => sections.has(candidate as Component))
    for (const other of candidates) {
      const section = other === component ? undefined : sections.get(other as Component)
      if (section !== undefined)
        problems.add(placeOf(section), `is a second ${kind} of the pipeline; remove one of them`)
    }
    if (component !== undefined) return resolve(component)
    if (!hasUnknown && !declared.incomplete) {
      const { file, line } = sections.values().next().value ?? {}
      problems.add(
        { file, line, section: `pipeline:${id}` },
        `has no ${kind}; add ${candidates.map((one) => `[${address(id, one)}]`).join(" or ")}`,
      )
    }
    return undefined
  }
  const implied: Implications = new Map()
  const isPresent = ({ title, isImplied }: Component): boolean =>
    ALWAYS.includes(title) || (isImplied === true && implied.has(title))
  const processors: ResolvedPart<"processor">[] = []
  const source = end("source")
  for (const component of inFileOrder(ofKind("processor", registry), sections)) {
    if (!isPresent(component as Component) && !sections.has(component as Component)) continue
    const part = resolve(component, implied.get(component.title))
    addImplied(part, implied)
    processors.push(part)
  }
  return { id, source, processors, sink: end("sink") }
}

/** Listed once, since a file may have thousands of pipelines. */
function ofKind<K extends ComponentKind>(kind: K, registry: readonly Component[]): readonly Component<K>[] {
  const byKind = BY_KIND.getOrInsertComputed(registry, () => Map.groupBy(registry, (it) => it.kind))
  return (byKind.get(kind) ?? []) as readonly Component<K>[]
}

const BY_KIND = new WeakMap<readonly Component[], ReadonlyMap<ComponentKind, readonly Component[]>>()

/** The processors in the registry's order; those that are not built in, in the order of their sections in their place. */
function inFileOrder(
  processors: readonly Component<"processor">[],
  sections: ReadonlyMap<Component, FileSection>,
): readonly Component<"processor">[] {
  const all: readonly Component[] = processors
  const own = [...sections.keys()].filter((it) => it.kind === "processor" && !isBuiltIn(it))
  if (own.length === 0) return processors
  const ordered = all.map((it) => (isBuiltIn(it) || !sections.has(it) ? it : own.shift()!))
  return ordered as readonly Component<"processor">[]
}

type Defaults = { readonly [key: string]: string }

/** What earlier components imply, by component. */
type Implications = Map<string, Defaults>

function addImplied({ component, values }: ResolvedPart, implied: Implications): void {
  for (const [title, defaults] of Object.entries(component.implies?.(values) ?? {}))
    if (defaults !== undefined) implied.set(title, { ...implied.get(title), ...defaults })
}

const address = (id: string, component: { title: string }): string => `pipeline:${id}:${component.title}`

function resolvePart<K extends ComponentKind>(
  id: string,
  component: Component<K>,
  sections: ReadonlyMap<Component, FileSection>,
  inCode: OptionsFromCode | undefined,
  { around, fileDefaults, problems, registry }: Reading,
  defaults: Defaults | undefined,
): ResolvedPart<K> {
  const found = {
    ...around,
    address: address(id, component),
    section: sections.get(component as Component),
    fileDefaults: fileDefaults.get(component as Component),
    inCode,
    defaults,
  }
  const strange = (key: string): string | undefined => keyOfOthers(key, id, component as Component, registry)
  return Object.assign(resolveSection(component, found, problems, strange), { component })
}

/** The component of each section, by its name or an alias. */
export function sectionsByComponent(
  named: ReadonlyMap<string, FileSection> | undefined,
  components: readonly Component[],
  problems: Problems,
): { sections: Map<Component, FileSection>; hasUnknown: boolean } {
  const sections = new Map<Component, FileSection>()
  let hasUnknown = false
  for (const [name, section] of named ?? []) {
    const location = placeOf(section)
    const component = components.find(({ title, aliases }) => title === name || aliases.includes(name))
    const first = component && sections.get(component)
    if (component === undefined) {
      hasUnknown = true
      const names = components.flatMap(({ title, aliases }) => [title, ...aliases])
      const own =
        nearest(name, names) === undefined ? "; or name the module that defines it with --components" : ""
      const text = `unknown component${suggest(name, names, (known) => known)}${own}`
      problems.add(location, text, "unknown_section")
    } else if (first === undefined) sections.set(component, section)
    else {
      const where = placeFrom(section, first)
      const text = `is the same section as [${first.name}]; move its keys to ${where}`
      problems.add(location, text, "duplicate_section")
    }
  }
  return { sections, hasUnknown }
}
