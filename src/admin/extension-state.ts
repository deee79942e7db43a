import type { Shape } from "./api/shape.ts"
import type { PipelineState } from "./api/shapes.ts"
import type { Finding } from "./problems/finding.ts"

/** An extension that runs, as the admin API shows it. */
export interface ExtensionState {
  /** Finds what needs someone's action now. */
  problems(): Iterable<Finding>
  /** The states of the pipelines that it watches; undefined: nothing is wrong. */
  pipelineStates?(): ReadonlyMap<string, PipelineState | undefined>
  /** Its sections, as the admin API lists them. */
  rows?(): readonly SectionRow[]
}

/** A section of an extension. */
export interface SectionRow {
  readonly id: string
}

/** A list of an extension's sections in the overview. */
export interface SectionList {
  /** Its key: `reconciles`. */
  readonly plural: string
  readonly row: Shape<SectionRow>
  /** Shapes by their names in the OpenAPI document: that of a row, and those within it. */
  readonly shapes: { readonly [name: string]: Shape }
}
