import type { Component, ComponentKind, Configured } from "../components/component.ts"
import { suggest } from "../config/nearest.ts"
import type { OptionSet } from "../config/option.ts"
import type { Place, Problems } from "../config/problems.ts"
import { resolveSection, type Found, type Given, type Resolved } from "../config/resolve.ts"
import type { Seed, SeedPipeline, SeedSection } from "../config/seed.ts"
import type { Processor } from "../event.ts"
import type { Steps } from "../slices.ts"

/** A pipeline that code composes. Sections of the file with its id give defaults to its components. */
export interface ComposedPipeline {
  readonly id: string
  readonly source: Configured<"source">
  readonly processors: readonly (Configured<"processor"> | Processor)[]
  readonly sink: Configured<"sink">
}

/** A pipeline whose options were read; some may be missing, and with them parts. */
export interface ResolvedPipeline {
  readonly id: string
  readonly source: ResolvedPart<"source"> | undefined
  readonly processors: readonly (ResolvedPart<"processor"> | Processor)[]
  readonly sink: ResolvedPart<"sink"> | undefined
}

interface ResolvedPart<K extends ComponentKind = ComponentKind> extends Resolved<OptionSet> {
  readonly component: Component<K>
}

type Find = (address: string, seed: SeedSection | undefined, given: Given | undefined) => Found

/** The processors that every pipeline of the file has, with a section or without. */
const ALWAYS = ["Validator", "Enricher"]

/** Reads the options of every component of every pipeline: those of code, then those that only the file names. */
export function* resolvePipelines(
  draft: {
    seed?: Seed | undefined
    pipelines?: readonly ComposedPipeline[] | undefined
    registry: readonly Component[]
  },
  find: Find,
  problems: Problems,
): Steps<ResolvedPipeline[]> {
  const { seed, pipelines: composed = [], registry } = draft
  const inFile = seed?.pipelines ?? new Map<string, SeedPipeline>()
  const ids = new Set<string>()
  const twice = new Set<string>()
  for (const { id } of composed) (ids.has(id) ? twice : ids).add(id)
  for (const id of twice) {
    problems.add(
      { line: "code", section: `pipeline:${id}` },
      "there are two pipelines of this id; rename one of them",
    )
  }
  const resolved: ResolvedPipeline[] = []
  for (const pipeline of composed) {
    resolved.push(fromCode(pipeline, inFile.get(pipeline.id), registry, find, problems))
    yield
  }
  for (const [id, seeded] of inFile) {
    if (ids.has(id)) continue
    resolved.push(fromFile(id, seeded, registry, find, problems))
    yield
  }
  if (resolved.length === 0 && seed?.lacksSections !== true) {
    problems.add(
      { line: undefined },
      "there is no pipeline; add [pipeline:webhooks:WebHookSource] and [pipeline:webhooks:BrokerSink]",
    )
  }
  return resolved
}

function fromCode(
  { id, source, processors, sink }: ComposedPipeline,
  seeded: SeedPipeline | undefined,
  registry: readonly Component[],
  find: Find,
  problems: Problems,
): ResolvedPipeline {
  const configured = [source, ...processors.filter((processor) => typeof processor !== "function"), sink]
  const used = configured.map(({ component }) => component as Component)
  const { sections } = sectionsByComponent(seeded, [...new Set([...registry, ...used])], problems)
  for (const [component, { line, name }] of sections) {
    if (used.includes(component)) continue
    problems.add(
      { line, section: name },
      "belongs to a pipeline that code composes without it; remove the section",
    )
  }
  const resolve = <K extends ComponentKind>({ component, given }: Configured<K>): ResolvedPart<K> =>
    resolvePart(
      component,
      find(address(id, component), sections.get(component as Component), given),
      problems,
    )
  return {
    id,
    source: resolve(source),
    processors: processors.map((processor) =>
      typeof processor === "function" ? processor : resolve(processor),
    ),
    sink: resolve(sink),
  }
}

function fromFile(
  id: string,
  seeded: SeedPipeline,
  registry: readonly Component[],
  find: Find,
  problems: Problems,
): ResolvedPipeline {
  const { sections, hasUnknown } = sectionsByComponent(seeded, registry, problems)
  const home: Place = { line: sections.values().next().value?.line, section: `pipeline:${id}` }
  const ofKind = <K extends ComponentKind>(kind: K): Component<K>[] =>
    registry.filter((component) => component.kind === kind) as unknown as Component<K>[]
  const resolve = <K extends ComponentKind>(component: Component<K>): ResolvedPart<K> =>
    resolvePart(
      component,
      find(address(id, component), sections.get(component as Component), undefined),
      problems,
    )
  const end = <K extends ComponentKind>(kind: K): ResolvedPart<K> | undefined => {
    const candidates = ofKind(kind)
    const component = candidates.find((candidate) => sections.has(candidate as Component))
    if (component !== undefined) return resolve(component)
    if (!hasUnknown)
      problems.add(
        home,
        `has no ${kind}; add ${candidates.map((one) => `[${address(id, one)}]`).join(" or ")}`,
      )
    return undefined
  }
  return {
    id,
    source: end("source"),
    processors: ofKind("processor")
      .filter((component) => ALWAYS.includes(component.title) || sections.has(component as Component))
      .map(resolve),
    sink: end("sink"),
  }
}

const address = (id: string, component: { title: string }): string => `pipeline:${id}:${component.title}`

function resolvePart<K extends ComponentKind>(
  component: Component<K>,
  found: Found,
  problems: Problems,
): ResolvedPart<K> {
  return { component, ...resolveSection(component, found, problems) }
}

/** Finds the component that each section of a pipeline names, by its name or another one that files use. */
function sectionsByComponent(
  seeded: SeedPipeline | undefined,
  components: readonly Component[],
  problems: Problems,
): { sections: Map<Component, SeedSection>; hasUnknown: boolean } {
  const sections = new Map<Component, SeedSection>()
  let hasUnknown = seeded?.incomplete ?? false
  for (const [name, section] of seeded?.components ?? []) {
    const place = { line: section.line, section: section.name }
    const component = components.find(({ title, aliases }) => title === name || aliases.includes(name))
    const first = component && sections.get(component)
    if (component === undefined) {
      hasUnknown = true
      const names = components.flatMap(({ title, aliases }) => [title, ...aliases])
      problems.add(place, `names an unknown component${suggest(name, names, (known) => known)}`)
    } else if (first === undefined) sections.set(component, section)
    else problems.add(place, `is the same as [${first.name}]; put its keys there, in line ${first.line}`)
  }
  return { sections, hasUnknown }
}
