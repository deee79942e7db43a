import type { Connection } from "../../brokers/define-connection.ts"
import type { Component, ComponentKind } from "../../components/define-component.ts"
import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import type { OptionSet, Values } from "../../config/options/option-types.ts"
import type { OptionsFromCode } from "../../config/options/resolve.ts"
import type { ADMIN, SERVICE, TRACES } from "../../config/sections.ts"
import type { FORWARD } from "../../config/sections/forward.ts"
import type { SectionView } from "../../extensions/sections.ts"
import type { Processor } from "../../pipeline/event.ts"
import type { Handler, HandlerOptions } from "../../replay/handler.ts"
import type { ConnectionSpec } from "../connection-spec.ts"
import type { Pipeline } from "../pipeline.ts"

/*
 * A configuration before and after it is checked.
 */

/** The input of `makePlan`, unchecked. */
export interface Draft {
  /** undefined: no file. */
  readonly configuration?: ConfigurationFile | undefined
  /** Connections registered in code, by id. */
  readonly connections?: ReadonlyMap<string, ConnectionSpec> | undefined
  /** Pipelines composed in code; the file's sections of their ids give defaults to their components. */
  readonly pipelines?: readonly Pipeline[] | undefined
  readonly handlers?: readonly PlannedHandler[] | undefined
  readonly admin?: OptionsFromCode | undefined
  readonly traces?: OptionsFromCode | undefined
  readonly service?: OptionsFromCode | undefined
  /** Every component that a file can name, in pipeline order. */
  readonly registry: readonly Component[]
  /** Absolute base of relative paths where no file gives one. */
  readonly cwd: string
  /** Called with the absolute path of each file that an option names. */
  readonly reads?: ((file: string) => void) | undefined
}

/** A valid configuration, resolved. */
export interface Plan {
  readonly connections: ReadonlyMap<string, Connection>
  readonly pipelines: readonly PlannedPipeline[]
  /** Extensions that it asks something of, and others, by their names. */
  readonly extensions: ReadonlyMap<string, PlannedExtension>
  readonly forwards: readonly PlannedForward[]
  readonly handlers: readonly PlannedHandler[]
  /** That it listens on. */
  readonly ports: ReadonlySet<number>
  /** Absolute base of relative paths. */
  readonly baseDir: string
  /** What it was made of; other processes make the same plan from its file. */
  readonly draft: Draft
  readonly admin: Values<(typeof ADMIN)["options"]>
  readonly traces: Values<(typeof TRACES)["options"]>
  readonly service: Values<(typeof SERVICE)["options"]>
}

export interface PlannedPipeline {
  readonly id: string
  readonly source: Planned<"source">
  readonly processors: readonly (Planned<"processor"> | Processor)[]
  readonly sink: Planned<"sink">
}

export interface PlannedExtension {
  readonly sections: readonly SectionView[]
  /** The things that the extension does for them. */
  readonly planned: readonly unknown[]
}

/** A handler registered by code. */
export interface PlannedHandler {
  /** The group. */
  readonly id: string
  /** `<connection>/<topic>` */
  readonly from: string
  readonly handler: Handler
  readonly options: HandlerOptions
}

/** A `[forward:<id>]` section. */
export interface PlannedForward {
  readonly id: string
  readonly values: Values<(typeof FORWARD)["options"]>
}

/** A component and all its options. */
export interface Planned<K extends ComponentKind = ComponentKind> {
  readonly component: Component<K>
  readonly values: Values<OptionSet>
}
