import type { ConfigurationFile, FileSection } from "../../config/file/configuration-file.ts"
import type { Place } from "../../config/file/problems.ts"
import type { OptionSet } from "../../config/options/option-types.ts"
import { inputsOf, type Resolved } from "../../config/options/resolve.ts"
import type { Steps } from "../../clock/slices.ts"
import type { Component, ComponentKind } from "../../components/define-component.ts"
import type { Draft, Plan, Planned, PlannedPipeline } from "./draft.ts"
import type { ResolvedPart, ResolvedPipeline } from "./resolve-pipelines.ts"

/*
 * The pipelines that a reload need not read again: their sections have the texts of the plan before, and so has everything
 * else that decides about their options. They are valid, and keep the object of their plan, by which what is open for them is
 * found.
 */

/** The pipelines of a draft that are as a plan has them, by id. */
export function* unchangedPipelines(
  draft: Draft,
  before: Plan | undefined,
): Steps<ReadonlyMap<string, ResolvedPipeline>> {
  const unchanged = new Map<string, ResolvedPipeline>()
  const now = draft.configuration
  const then = before?.draft.configuration
  if (now === undefined || then === undefined || !isSameAround(draft, before!.draft, now, then))
    return unchanged
  for (const planned of before!.pipelines) {
    yield
    const [isNow, was] = [now.pipelines.get(planned.id), then.pipelines.get(planned.id)]
    if (isNow === undefined || was === undefined || isNow.incomplete) continue
    if (hasSameTexts(isNow.components, was.components) && !readsFiles(planned))
      unchanged.set(planned.id, asResolved(planned))
  }
  return unchanged
}

/** What code registers is not compared, nor are providers of the file, which may read other files. */
function isSameAround(draft: Draft, old: Draft, now: ConfigurationFile, then: ConfigurationFile): boolean {
  return (
    [draft, old].every(({ pipelines = [] }) => pipelines.length === 0) &&
    [now, then].every(({ providers }) => providers.size === 0) &&
    now.baseDir === then.baseDir &&
    draft.registry.length === old.registry.length &&
    draft.registry.every((it, at) => it === old.registry[at]) &&
    Bun.deepEquals([draft.connections, draft.service], [old.connections, old.service]) &&
    (["connections", "defaults"] as const).every((it) => hasSameTexts(now[it], then[it])) &&
    // they name pipelines
    [...now.sections].every(([kind, sections]) => hasSameTexts(sections, then.sections.get(kind)!)) &&
    hasSameTexts(alone(now.service), alone(then.service))
  )
}

type Sections = ReadonlyMap<string, FileSection>

const alone = (section: FileSection | undefined): Sections =>
  new Map(section === undefined ? [] : [["", section]])

/** Also in the same order, which custom processors run in. */
function hasSameTexts(now: Sections, then: Sections): boolean {
  if (now.size !== then.size) return false
  const names = then.keys()
  for (const [name, { texts }] of now) {
    const before = then.get(name)?.texts
    if (names.next().value !== name || before?.size !== texts.size) return false
    for (const [key, { value, baseDir }] of texts) {
      const was = before.get(key)
      if (value.text === undefined || value.text !== was?.value.text || baseDir !== was.baseDir) return false
    }
  }
  return true
}

/** Options are checked with the contents of the files that they name, which may have changed. */
const readsFiles = ({ source, processors, sink }: PlannedPipeline): boolean =>
  [source, ...processors, sink].some(
    (it) => typeof it === "function" || inputsOf(it.component, it.values).length > 0,
  )

const asResolved = (planned: PlannedPipeline): ResolvedPipeline => ({
  id: planned.id,
  source: new UnchangedPart(planned.source),
  processors: planned.processors.map((it) => (typeof it === "function" ? it : new UnchangedPart(it))),
  sink: new UnchangedPart(planned.sink),
  planned,
})

/** Places are unknown: if it conflicts with another pipeline, everything is read again. */
class UnchangedPart<K extends ComponentKind> implements ResolvedPart<K> {
  readonly component: Component<K>
  readonly values: Resolved<OptionSet>["values"]

  constructor({ component, values }: Planned<K>) {
    this.component = component
    this.values = values
  }

  get home(): Place {
    return { line: undefined }
  }

  substituted(): readonly string[] {
    return []
  }

  isSound(): boolean {
    return true
  }

  isGiven(): boolean {
    return true
  }

  isDefault(): boolean {
    return false
  }

  wrong(): void {}

  where(): Place {
    return this.home
  }

  show(): undefined {}
}
