import type { SectionList, SectionRow } from "../admin/extension-state.ts"
import type { Component } from "../components/define-component.ts"
import type { Section } from "../config/declarations.ts"
import type { OptionSet, Values } from "../config/options/option-types.ts"
import type { Resolved } from "../config/options/resolve.ts"
import type { Processor } from "../pipeline/event.ts"

/** A pipeline of a configuration, as far as extensions read it. */
export interface PipelineView {
  readonly id: string
  readonly source: PartView
  readonly processors: readonly (PartView | Processor)[]
  readonly sink: PartView
}

export interface PartView {
  readonly component: Component
  readonly values: Values<OptionSet>
}

/** The processors of a pipeline, some of whose options may be wrong. */
export type CheckedProcessors = readonly (
  | { readonly component: Component; readonly values: Partial<Values<OptionSet>> }
  | Processor
)[]

/** A valid section. */
export interface SectionView<O extends OptionSet = OptionSet> {
  readonly id: string
  readonly values: Values<O>
}

/** The sections `[<extension>:<id>]` of the configuration file; `plural` is also their key in what a reload changes, and in `hookline check --json`. */
export interface Sections<O extends OptionSet = OptionSet, P = unknown> extends SectionList {
  readonly section: Section<O>
  /** The option that names the pipeline that a section is about. */
  readonly pipeline: keyof O & string
  /** Checks a section with the processors of its pipeline, where both could be read. */
  check(section: Resolved<O>, processors: CheckedProcessors): void
  /** A planned section as `hookline check` prints it. */
  show(planned: P): { readonly line: string; readonly json: SectionRow }
  /** True if a section can bring back what a sender of this preset loses in an outage of the broker. */
  recovers?(sender: string): boolean
  /**
   * The work that each replica does where replicas do not share the store of the pipeline's Deduplicator, and what that leads to:
   * `["is reconciled", "each asks for events that another one has"]`.
   */
  readonly unshared?: readonly [does: string, effect: string]
}
